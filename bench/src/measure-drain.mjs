import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { ChildProcess } from './child-process.mjs';
import { contestant } from './contestants/index.mjs';

const patienceMs = 300_000;

/**
 * How long it takes to run so many no-op jobs: from the word to go, given when all processes stand connected, to the moment at which the last
 * job has run and none is left in the storage.
 *
 * @param {string} id Of the contestant.
 * @param {{ jobs: number, processes: number }} size
 * @returns {Promise<{ ms: number, cpuMs: number, machineMs: number }>} `cpuMs` is the processor time of the worker processes, `machineMs`
 *   that of the whole machine, the server's with it.
 */
export async function measureDrain(id, { jobs, processes }) {
  const subject = await contestant(id);
  await subject.setUp();
  try {
    await subject.seed(jobs);
    const children = Array.from(
      { length: processes },
      () => new ChildProcess('drain', id, { jobs, isAlone: processes === 1 }),
    );
    try {
      await Promise.all(children.map((child) => child.hear('ready')));
      const busyBefore = busyMs();
      const ms = await timeDrain(subject, children, jobs);
      const machineMs = busyMs() - busyBefore;
      const costs = await Promise.all(children.map((child) => child.ask('all done', 'cost')));
      await Promise.all(children.map((child) => child.stop()));
      return { ms, machineMs, cpuMs: sum(costs.map(({ cpuMs }) => cpuMs)) };
    } finally {
      for (const child of children) child.kill();
    }
  } finally {
    await subject.tearDown();
  }
}

async function timeDrain(subject, children, jobs) {
  const allRun = allCounted(children, jobs);
  const startedAt = performance.now();
  for (const child of children) child.tell('go');
  await allRun;
  while ((await subject.remaining()) > 0) {
    if (performance.now() - startedAt > patienceMs) throw new Error('jobs ran but were never acknowledged');
    await pause(1);
  }
  return performance.now() - startedAt;
}

/** Resolves when the processes together have run all jobs. @throws when they ran more: a job ran twice */
function allCounted(children, jobs) {
  const counts = children.map(() => 0);
  const all = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`ran ${sum(counts)} of ${jobs} jobs`)), patienceMs);
    children.forEach((child, index) =>
      child.on('count', ({ count }) => {
        counts[index] = count;
        const total = sum(counts);
        if (total < jobs) return;
        clearTimeout(timer);
        if (total > jobs) reject(new Error(`ran ${total} jobs where there were ${jobs}`));
        else resolve();
      }),
    );
  });
  return Promise.race([all, ...children.map((child) => child.failure)]);
}

/** Of all processors since the machine was started. */
function busyMs() {
  return sum(cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq));
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
