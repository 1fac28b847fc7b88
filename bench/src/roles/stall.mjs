import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { payloads } from '../contestant.mjs';
import { quietSink } from '../contestants/ours.mjs';
import { timeBlocks } from '../driver-spy.mjs';
import { libraryModule } from '../library.mjs';

const { PersistentJobQueue } = await libraryModule('index.js');

const resolutionMs = 1;

/** Does its part on the file, and tells how long its event loop stood still meanwhile, and how long the longest block on SQLite took. */
export async function stall({ contestant, settings: { part }, link }) {
  const dataSource = await contestant.openDataSource();
  const retention = part === 'prune' ? { failed: 3_600_000 } : undefined;
  const queue = await PersistentJobQueue.create(dataSource, { retention }, { sink: quietSink });
  queue.register('noop', async () => {});
  const longestBlock = timeBlocks();
  link.tell('ready');
  await link.hear('go');
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  await parts[part](queue, (text) => dataSource.query(text));
  delays.disable();
  const ms = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
  link.tell('done', { p99: ms(delays.percentile(99)), longest: ms(delays.max), block: longestBlock() });
  await link.hear('stop');
  await queue.close();
  await dataSource.destroy();
}

const parts = {
  async work(queue, ask) {
    await queue.start();
    await untilNone(ask, "status = 'pending'");
  },
  async enqueue(queue) {
    for (const chunk of payloads(20_000)) {
      await queue.enqueueMany(chunk.map((payload) => ({ type: 'noop', payload })));
      await pause(5);
    }
  },
  async prune(queue, ask) {
    await queue.start();
    await untilNone(ask, "status = 'failed' AND finished_at IS NOT NULL AND finished_at < 1000000");
  },
  rest: () => pause(3_000),
};

async function untilNone(ask, where) {
  while ((await ask(`SELECT 1 FROM rws_jobs WHERE ${where} LIMIT 1`)).length > 0) await pause(20);
}
