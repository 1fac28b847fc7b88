import type { PersistentJobQueue, PersistentQueueOptions } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { sinceInnodbTrx, until } from '../support/until.js';

/** Of the queue's own: its pool, and on PostgreSQL two that claim and one that listens. */
const mostOwn = { postgres: 3 + 2 + 1, mysql: 3 };

/** Connections to this database that are in a transaction and do nothing. */
const idleTransactions = {
  postgres:
    "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
  mysql: `SELECT count(*) AS n FROM information_schema.innodb_trx AS t
    JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE()`,
};

const connections = {
  postgres: 'SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()',
  mysql: 'SELECT count(*) AS n FROM information_schema.processlist WHERE db = DATABASE()',
};

/** All connections to this database but the one that says it, each with the statement that ends it. */
const endings = {
  postgres:
    'SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  mysql:
    "SELECT CONCAT('KILL ', id) AS ending FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
};

forEachDatabase(
  (database) => {
    let dataSource: DataSource;
    let rig: QueueRig;
    let look: DataSource | undefined;
    const own = mostOwn[database.name as keyof typeof mostOwn];

    afterEach(async () => {
      look = undefined;
      await rig.close();
      await database.empty();
    });

    /** A queue of an app whose pool has so many connections. */
    async function queueOf(poolSize: number, options: PersistentQueueOptions): Promise<PersistentJobQueue> {
      dataSource = await database.connect({ poolSize });
      rig = new QueueRig(dataSource);
      return rig.queue(options);
    }

    /** Whether a transaction per connection of the app's pool can be open at once: none of them is held by anybody. */
    async function takeAll(poolSize: number): Promise<void> {
      const runners = Array.from({ length: poolSize }, () => dataSource.createQueryRunner());
      await Promise.all(runners.map((runner) => runner.connect()));
      await Promise.all(runners.map((runner) => runner.release()));
    }

    async function count(statements: typeof connections): Promise<number> {
      look ??= await database.connect({ poolSize: 1 });
      const [row]: { n: unknown }[] = await look.query(statements[database.name as keyof typeof connections]);
      return Number(row?.n);
    }

    /** Looks at the number of connections all the time; the answer is the highest number, without the connection that looks. */
    function sample(): { stop(): Promise<number> } {
      let isOver = false;
      let most = 0;
      const looking = (async () => {
        while (!isOver) most = Math.max(most, (await count(connections)) - 1);
      })();
      return {
        stop: async () => {
          isOver = true;
          await looking;
          return most;
        },
      };
    }

    /** Ends all connections to this database but the one that looks. */
    async function endAll(): Promise<void> {
      look ??= await database.connect({ poolSize: 1 });
      const rows: { ending?: string }[] = await look.query(endings[database.name as keyof typeof endings]);
      // Some have ended by themselves meanwhile.
      for (const { ending } of rows) if (ending !== undefined) await look.query(ending).catch(() => undefined);
    }

    it('four workers whose handlers share the one connection of the app all finish', async () => {
      const queue = await queueOf(1, { workers: 4 });
      let runs = 0;
      queue.register('work', async () => {
        for (let n = 0; n < 3; n += 1) await dataSource.query('SELECT 1');
        runs += 1;
      });
      await queue.enqueueMany(Array.from({ length: 40 }, () => ({ type: 'work' })));

      await queue.start();
      await until(async () => (await rig.rows()).length === 0);

      expect(runs).toBe(40);
    });

    it('handlers that hold every connection of the app in transactions may enqueue outside of them', async () => {
      const queue = await queueOf(2, { workers: 2 });
      let running = 0;
      queue.register('outer', () =>
        dataSource.transaction(async (manager) => {
          running += 1;
          await until(() => running === 2);
          await queue.enqueue('inner');
          await manager.query('SELECT 1');
        }),
      );
      await queue.enqueueMany([{ type: 'outer' }, { type: 'outer' }]);

      await queue.start();
      await until(async () => (await rig.rows()).every((row) => row.job_type === 'inner'));

      expect(await rig.rows()).toHaveLength(2);
    });

    it('a thousand jobs that fail in a transaction leave no connection behind, and no transaction open', async () => {
      const queue = await queueOf(2, { workers: 8, maxRetries: 0 });
      queue.register('fails', () =>
        dataSource.transaction(async (manager) => {
          await manager.query('SELECT 1');
          throw new Error('boom');
        }),
      );
      await queue.enqueueMany(Array.from({ length: 1_000 }, () => ({ type: 'fails' })));

      await queue.start();
      await until(async () => (await rig.rows("status <> 'failed'")).length === 0);

      await takeAll(2);
      await until(async () => (await count(idleTransactions)) === 0, {
        what: 'the end of all transactions',
        every: sinceInnodbTrx,
      });
      // Beside the app's own and the one that looks here.
      expect(await count(connections)).toBeLessThanOrEqual(2 + own + 1);
    });

    it('a queue never has more connections than it says: in a long drain, among enqueues, and after all were cut', async () => {
      const queue = await queueOf(2, { workers: 16 });
      const peaks: number[] = [];
      let runs = 0;
      queue.register('work', async () => {
        runs += 1;
        if (runs % 50 === 0) await dataSource.query('SELECT 1').catch(() => undefined);
      });
      const sampling = sample();
      await queue.enqueueMany(Array.from({ length: 5_000 }, () => ({ type: 'work' })));
      await queue.start();
      await Promise.all(Array.from({ length: 100 }, () => queue.enqueue('work')));
      await until(async () => (await rig.rows()).length === 0, { every: 50 });
      peaks.push(await sampling.stop());

      const again = sample();
      await queue.enqueueMany(Array.from({ length: 5_000 }, () => ({ type: 'work' })));
      for (let cuts = 0; cuts < 3; cuts += 1) {
        const before = runs;
        await endAll();
        await until(() => runs > before, { within: 30_000 });
      }
      await until(async () => (await rig.rows().catch(() => [undefined])).length === 0, { every: 50 });
      peaks.push(await again.stop());

      process.stdout.write(
        `pools: ${database.name} had up to ${peaks.join(' and ')} connections, the app's two included\n`,
      );
      expect(Math.max(...peaks)).toBeLessThanOrEqual(2 + own);
    });
  },
  ['postgres', 'mysql'],
);
