import { Logger, makeWorkerUtils, runMigrations, runTaskList } from 'graphile-worker';
import { libraryCopy } from '../library-copy.mjs';
import { postgresStorage } from '../storages/postgres-storage.mjs';

const pg = libraryCopy('pg');

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(`graphile-worker: ${message}`);
});

const batched = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };

/** `graphile-worker-preset` is what its documentation names on the page about performance, the first is the best that we found. */
const settings = {
  'graphile-worker': {
    name: 'graphile-worker, best',
    setting: 'concurrentJobs 24, maxPoolSize 10, localQueue.size 2000, completeJobBatchDelay 0, failJobBatchDelay 0',
    worker: { ...batched, concurrentJobs: 24, localQueue: { size: 2_000 } },
    connections: 10,
  },
  'graphile-worker-preset': {
    name: 'graphile-worker, documented preset',
    setting: 'concurrentJobs 24, maxPoolSize 25, localQueue.size 500, completeJobBatchDelay 0, failJobBatchDelay 0',
    worker: { ...batched, concurrentJobs: 24, localQueue: { size: 500 } },
    connections: 25,
  },
  'graphile-worker-default': {
    name: 'graphile-worker, defaults',
    setting: 'concurrentJobs 1, no local queue, no batching',
    worker: {},
    connections: 10,
    share: 0.05,
  },
};

export function graphileWorker(id) {
  const { name, setting, worker, connections, share } = settings[id];
  const openStorage = (run) => openSession({ url: storage.url, worker, connections, run });
  const storage = postgresStorage({
    id,
    unfinished: 'SELECT 1 FROM graphile_worker._private_jobs',
    open: () => openStorage(async () => {}),
    migrate: (url) => runMigrations({ connectionString: url, logger }),
  });
  return { ...storage, id, name, setting, share, open: openStorage };
}

async function openSession({ url, worker, connections, run }) {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const ignore = () => {};
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  await connectAll(pool, connections);
  const preset = { worker: { ...worker, maxPoolSize: connections, logger } };
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  let workers;
  return {
    enqueue: (payload) => utils.addJob('noop', payload),
    enqueueMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'noop', payload }))),
    start() {
      workers = runTaskList({ preset, noHandleSignals: true }, { noop: run }, pool);
    },
    async close() {
      await workers?.gracefulShutdown();
      await utils.release();
      await pool.end();
    },
  };
}

/** The clock must not run while it connects. */
async function connectAll(pool, connections) {
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  for (const client of clients) client.release();
}
