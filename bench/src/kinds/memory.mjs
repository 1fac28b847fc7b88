import { ChildProcess } from '../child-process.mjs';
import { memoryQueueNames } from '../contestants/memory.mjs';
import { inTurns } from '../in-turns.mjs';

const concurrency = 4;

/** @type {import('./index.mjs').Kind} */
export const memory = {
  name: 'memory',
  description: 'the memory queue: async no-op jobs at concurrency 4, and what jobs weigh that wait',
  async run({ memoryJobs, waiting, rounds, say }) {
    const turns = Object.entries(memoryQueueNames).flatMap(([id, name]) => {
      const row = { kind: 'memory', id: `memory-${id}`, name, setting: `concurrency ${concurrency}` };
      return [drainTurn(row, id, memoryJobs), weightTurn(row, id, waiting)];
    });
    return inTurns(turns, rounds, say);
  },
};

function drainTurn(row, id, jobs) {
  return {
    label: `${row.name}, drain`,
    async measure() {
      const { ms } = await ask('memoryDrain', { id, jobs, concurrency });
      return { ...row, group: `${jobs} async no-op jobs`, unit: 'jobs/s', better: 'more', value: (jobs / ms) * 1_000 };
    },
  };
}

function weightTurn(row, id, waiting) {
  return {
    label: `${row.name}, waiting`,
    async measure() {
      const { heapBytes, rssBytes } = await ask('memoryWaiting', { id, waiting, concurrency }, ['--expose-gc']);
      const common = { ...row, group: `${waiting} waiting closures`, better: /** @type {const} */ ('less') };
      return [
        { ...common, unit: 'bytes of heap each', value: heapBytes / waiting },
        { ...common, unit: 'MB of resident memory', value: rssBytes / 1e6 },
      ];
    },
  };
}

async function ask(role, settings, execArgv = []) {
  const child = new ChildProcess(role, '', settings, execArgv);
  try {
    const result = await child.hear('done');
    await child.stop();
    return result;
  } finally {
    child.kill();
  }
}
