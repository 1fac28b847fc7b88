import { ChildProcess } from '../child-process.mjs';
import { contestant } from '../contestants/index.mjs';
import { inTurns } from '../in-turns.mjs';
import { percentile } from '../statistics.mjs';

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

/** @type {import('./index.mjs').Kind} */
export const latency = {
  name: 'latency',
  description:
    'from the call of enqueue to the start of the handler, on an idle system, in one process and between two',
  async run({ latencies, rounds, select, say }) {
    const turns = [];
    for (const place of ['in one process', 'between two processes']) {
      for (const id of select(all)) turns.push(turnOf(await contestant(id), place, latencies));
    }
    return inTurns(turns, rounds, say);
  },
};

function turnOf(subject, place, jobs) {
  const { id, name, setting, server } = subject;
  const common = { kind: 'latency', id, name: nameOn(name, server), setting, better: /** @type {const} */ ('less') };
  return {
    label: `${common.name}, ${place}`,
    async measure() {
      const latencies = await measure(subject, place, jobs);
      return [50, 95, 99].map((percent) => ({
        ...common,
        group: `${place}, p${percent}`,
        unit: 'ms',
        value: percentile(latencies, percent),
      }));
    },
  };
}

function nameOn(name, server) {
  return name === 'nestjs-jobs' && server !== 'postgres' ? `${name} on ${server}` : name;
}

async function measure(subject, place, jobs) {
  await subject.setUp();
  const parts =
    place === 'in one process' ? [{ produces: true, consumes: true }] : [{ consumes: true }, { produces: true }];
  const children = parts.map((part) => new ChildProcess('latency', subject.id, { jobs, ...part }));
  try {
    await Promise.all(children.map((child) => child.hear('ready')));
    const done = children[0].hear('done');
    for (const child of children) child.tell('go');
    const { latencies } = await done;
    for (const child of children) await child.stop();
    return latencies;
  } finally {
    for (const child of children) child.kill();
    await subject.tearDown();
  }
}
