import { memoryQueue } from '../contestants/memory.mjs';

const warmUps = 20_000;

/** Adds jobs that do nothing to a queue in memory that runs, and waits until they are done. */
export async function memoryDrain({ settings: { id, jobs, concurrency }, link }) {
  await drain(id, concurrency, warmUps);
  link.tell('done', { ms: await drain(id, concurrency, jobs) });
  await link.hear('stop');
}

async function drain(id, concurrency, jobs) {
  const queue = await memoryQueue(id, concurrency);
  queue.start();
  let count = 0;
  const startedAt = process.hrtime.bigint();
  for (let n = 0; n < jobs; n += 1) {
    void queue.add(async () => {
      count += 1;
    });
  }
  await queue.finished();
  const ms = Number(process.hrtime.bigint() - startedAt) / 1e6;
  if (count !== jobs) throw new Error(`${id} ran ${count} of ${jobs} jobs`);
  return ms;
}

/** Weighs jobs that wait: a closure each, which remembers a number of its own. Needs `--expose-gc`. */
export async function memoryWaiting({ settings: { id, waiting, concurrency }, link }) {
  const queue = await memoryQueue(id, concurrency);
  const before = weigh();
  for (let n = 0; n < waiting; n += 1) void queue.add(async () => void n);
  const after = weigh();
  link.tell('done', { heapBytes: after.heapUsed - before.heapUsed, rssBytes: after.rss - before.rss });
  await link.hear('stop');
}

function weigh() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage();
}
