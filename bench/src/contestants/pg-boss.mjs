import { PgBoss } from 'pg-boss';
import { postgresStorage } from '../storages/postgres-storage.mjs';

const queue = 'noop';

/** Its fastest setting for jobs that take no time: large batches, several of them at once, no pause while batches come back full. */
const work = { batchSize: 2_000, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

const storage = postgresStorage({
  id: 'pg-boss',
  unfinished: `SELECT 1 FROM pgboss.job WHERE name = '${queue}' AND state < 'completed'`,
  open: () => openSession(async () => {}),
  migrate: async (url) => {
    const boss = await startBoss(url);
    await boss.createQueue(queue, { notify: true });
    await boss.stop({ graceful: false });
  },
});

export const pgBoss = {
  id: 'pg-boss',
  name: 'pg-boss',
  setting: 'batchSize 2000, localConcurrency 2, burstWhenBatchFull, useListenNotify',
  ...storage,
  open: openSession,
};

async function openSession(run) {
  const boss = await startBoss(storage.url);
  return {
    enqueue: (payload) => boss.send(queue, payload),
    enqueueMany: (payloads) =>
      boss.insert(
        queue,
        payloads.map((data) => ({ data })),
      ),
    async start() {
      await boss.work(queue, work, (jobs) => Promise.all(jobs.map(({ data }) => run(data))));
    },
    close: () => boss.stop({ graceful: true, timeout: 5_000 }),
  };
}

async function startBoss(url) {
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return boss;
}
