import { createPostgresBackend, Queue, withBackend, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { payloads } from '../contestant.mjs';
import { redisCommands, redisUrl, removeKeys } from '../servers/redis.mjs';
import { postgresStorage } from '../storages/postgres-storage.mjs';

const name = 'noop';
const prefix = 'jobs-bench';
const concurrency = 200;
const setting = `concurrency ${concurrency}, removeOnComplete`;
const ignored = async () => {};

/** @type {{ queue: Queue, connection: Redis } | undefined} */
let watcher;

export const bullmq = {
  id: 'bullmq',
  name: 'BullMQ on Redis',
  setting,
  server: /** @type {const} */ ('redis'),
  setUp: () => removeKeys(prefix),
  async seed(count) {
    const session = await bullmq.open(ignored);
    for (const chunk of payloads(count)) await session.enqueueMany(chunk);
    await session.close();
    const connection = redis();
    watcher = { queue: new Queue(name, { connection, prefix }), connection };
    await watcher.queue.waitUntilReady();
  },
  remaining: async () =>
    Math.min(1, await watcher.queue.getJobCountByTypes('wait', 'active', 'prioritized', 'delayed')),
  requests: redisCommands,
  async tearDown() {
    await watcher?.queue.close();
    watcher?.connection.disconnect();
    watcher = undefined;
    await removeKeys(prefix);
  },
  open: (run) => {
    const [forQueue, forWorker] = [redis(), redis()];
    return openSession({
      queue: new Queue(name, { connection: forQueue, prefix }),
      worker: new Worker(name, ({ data }) => run(data), { connection: forWorker, prefix, concurrency, autorun: false }),
      disconnect: async () => [forQueue, forWorker].forEach((connection) => connection.disconnect()),
    });
  },
};

const storage = postgresStorage({
  id: 'bullmq-postgres',
  unfinished: "SELECT 1 FROM bullmq.job WHERE state NOT IN ('completed', 'failed')",
  open: () => bullmqPostgres.open(ignored),
  async migrate(url) {
    const { Queue: PostgresQueue } = withBackend(createPostgresBackend);
    const queue = new PostgresQueue(name, { connection: { connectionString: url, migrate: true } });
    await queue.waitUntilReady();
    await queue.close();
  },
});

export const bullmqPostgres = {
  id: 'bullmq-postgres',
  name: 'BullMQ on PostgreSQL',
  setting,
  ...storage,
  open: (run) => {
    const on = withBackend(createPostgresBackend);
    const connection = { connectionString: storage.url };
    return openSession({
      queue: new on.Queue(name, { connection }),
      worker: new on.Worker(name, ({ data }) => run(data), { connection, concurrency, autorun: false }),
      disconnect: ignored,
    });
  },
};

function redis() {
  return new Redis(redisUrl, { maxRetriesPerRequest: null });
}

async function openSession({ queue, worker, disconnect }) {
  for (const one of [queue, worker]) one.on('error', (error) => console.error(`BullMQ: ${error.message}`));
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  const options = { removeOnComplete: true };
  let isStarted = false;
  return {
    enqueue: (payload) => queue.add(name, payload, options),
    enqueueMany: (batch) => queue.addBulk(batch.map((data) => ({ name, data, opts: options }))),
    start() {
      isStarted = true;
      void worker.run();
    },
    async close() {
      await worker.close(!isStarted);
      await queue.close();
      await disconnect();
    },
  };
}
