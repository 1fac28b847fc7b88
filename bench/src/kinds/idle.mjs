import { setTimeout as pause } from 'node:timers/promises';
import { ChildProcess } from '../child-process.mjs';
import { contestant } from '../contestants/index.mjs';
import { inTurns } from '../in-turns.mjs';

const all = [
  'ours',
  'graphile-worker',
  'graphile-worker-default',
  'pg-boss',
  'bullmq',
  'bullmq-postgres',
  'ours-mysql',
  'ours-sqlite',
];
/** A server process of PostgreSQL that is idle tells up to ten seconds late what it has done. */
const settleMs = 12_000;

/** @type {import('./index.mjs').Kind} */
export const idle = {
  name: 'idle',
  description: 'what one worker process costs while there is nothing to do: statements and processor time',
  async run({ idleSeconds, rounds, select, say }) {
    const turns = [];
    for (const id of select(all)) turns.push(turnOf(await contestant(id), idleSeconds * 1_000));
    return inTurns(turns, rounds, say);
  },
};

function turnOf(subject, ms) {
  const { id, setting, server } = subject;
  const name = subject.name === 'nestjs-jobs' && server !== 'postgres' ? `nestjs-jobs on ${server}` : subject.name;
  const common = { kind: 'idle', id, name, setting, better: /** @type {const} */ ('less') };
  return {
    label: name,
    async measure() {
      const { requests, cpuMs } = await measure(subject, ms);
      return [
        { ...common, group: 'requests to the server', unit: 'a second', value: (requests / ms) * 1_000 },
        { ...common, group: 'processor time of the process', unit: '% of a core', value: (cpuMs / ms) * 100 },
      ];
    },
  };
}

async function measure(subject, ms) {
  await subject.setUp();
  const child = new ChildProcess('idle', subject.id, {});
  try {
    await child.hear('ready');
    await pause(settleMs);
    const begin = await costAt(child, subject, 'begin');
    await pause(ms);
    const end = await costAt(child, subject, 'end');
    await child.stop();
    return { requests: end.requests - begin.requests, cpuMs: end.cpuMs - begin.cpuMs };
  } finally {
    child.kill();
    await subject.tearDown();
  }
}

async function costAt(child, subject, moment) {
  const { cpuMs, statements } = await child.ask(moment, `cost at ${moment}`);
  return { cpuMs, requests: (await subject.requests?.()) ?? statements };
}
