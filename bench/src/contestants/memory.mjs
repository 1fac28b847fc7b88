import { libraryModule } from '../library.mjs';

/**
 * A queue in memory.
 *
 * @typedef {object} MemoryQueue
 * @property {(work: () => Promise<void>) => unknown} add
 * @property {() => void} start Nothing runs before.
 * @property {() => Promise<unknown>} finished Resolves when all that was added is done.
 */

/** @type {Record<string, (concurrency: number) => Promise<MemoryQueue>>} */
const makers = {
  async ours(workers) {
    const { JobQueue } = await libraryModule('index.js');
    const queue = new JobQueue({ workers, maxQueued: 100_000_000 }, { autoStart: false });
    return { add: (work) => queue.submit(work), start: () => queue.start(), finished: () => queue.join() };
  },
  async fastq(concurrency) {
    const { default: fastq } = await import('fastq');
    const queue = fastq.promise((work) => work(), concurrency);
    queue.pause();
    return { add: (work) => queue.push(work), start: () => queue.resume(), finished: () => queue.drained() };
  },
  async 'p-queue'(concurrency) {
    const { default: PQueue } = await import('p-queue');
    const queue = new PQueue({ concurrency, autoStart: false });
    return { add: (work) => queue.add(work), start: () => queue.start(), finished: () => queue.onIdle() };
  },
};

export const memoryQueueNames = { ours: 'nestjs-jobs', fastq: 'fastq (promises)', 'p-queue': 'p-queue' };

/** @returns {Promise<MemoryQueue>} */
export function memoryQueue(id, concurrency) {
  return makers[id](concurrency);
}
