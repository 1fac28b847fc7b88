import type { DataSource } from 'typeorm';
import { StoreError, TransactionWaitError } from '../../../lib/model/errors.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, claimed, settle, StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

const undo = new Error('undo');

/** What can be opened and closed from outside. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** The raw connection, as better-sqlite3 has it. */
function handleOf(dataSource: DataSource): {
  exec(sql: string): void;
  pragma(sql: string, options: { simple: true }): unknown;
  prepare(sql: string): { iterate(): IterableIterator<unknown> };
  defaultSafeIntegers(isOn: true): void;
} {
  return Reflect.get(dataSource.driver, 'databaseConnection');
}

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    let dataSource: DataSource;
    let store: JobStore;

    beforeEach(async () => {
      dataSource = await rig.dataSource();
      store = await rig.open();
      await dataSource.query('CREATE TABLE users (name TEXT NOT NULL)');
    });

    afterEach(() => rig.clear());

    describe("while somebody else's transaction is open on the connection", () => {
      it('an insert waits, and outlives the rollback', async () => {
        const { opened, open } = gate();
        const transaction = dataSource.transaction(async (manager) => {
          await manager.query("INSERT INTO users (name) VALUES ('ada')");
          await opened;
          throw undo;
        });
        await until(() => Reflect.get(handleOf(dataSource), 'inTransaction') === true);
        let isStored = false;
        const insert = store.insert([aJob()]).then(() => (isStored = true));
        await new Promise((resolve) => setImmediate(resolve));
        expect(isStored).toBe(false);

        open();
        await expect(transaction).rejects.toBe(undo);
        await insert;

        expect(await rig.rows()).toHaveLength(1);
        expect(await dataSource.query('SELECT * FROM users')).toEqual([]);
      });

      it('an outcome waits, and outlives the rollback', async () => {
        const job = await claimed(store, aJob());
        const { opened, open } = gate();
        const transaction = dataSource.transaction(async () => {
          await opened;
          throw undo;
        });
        await until(() => Reflect.get(handleOf(dataSource), 'inTransaction') === true);
        const settled = settle(store, job);

        open();
        await expect(transaction).rejects.toBe(undo);

        expect(await settled).toBe('settled');
        expect(await rig.rows()).toEqual([]);
      });

      it('no job of that transaction is claimed', async () => {
        const { opened, open } = gate();
        const transaction = dataSource.transaction(async (manager) => {
          await store.insert([aJob()], manager);
          await opened;
          throw undo;
        });
        await until(() => Reflect.get(handleOf(dataSource), 'inTransaction') === true);
        const found = claim(store);

        open();
        await expect(transaction).rejects.toBe(undo);

        expect(await found).toEqual([]);
      });

      it('the wait ends with an error that says what to do', async () => {
        const impatient = await rig.open({ transactionWaitMs: 20 });
        const { opened, open } = gate();
        const transaction = dataSource.transaction(() => opened);
        await until(() => Reflect.get(handleOf(dataSource), 'inTransaction') === true);

        const error: unknown = await impatient.insert([aJob()]).catch((thrown: unknown) => thrown);

        expect(error).toBeInstanceOf(TransactionWaitError);
        expect(String(error)).toContain('{ manager }');
        open();
        await transaction;
      });

      it('verbs come through in their order, though transactions follow each other without a gap', async () => {
        const order: number[] = [];
        let isOver = false;
        const busy = (async () => {
          while (!isOver) {
            await dataSource.transaction(async (manager) => {
              await manager.query("INSERT INTO users (name) VALUES ('ada')");
              await new Promise((resolve) => setTimeout(resolve, 1));
            });
          }
        })();

        await Promise.all([1, 2, 3, 4, 5].map((number) => store.insert([aJob()]).then(() => order.push(number))));

        isOver = true;
        await busy;
        expect(order).toEqual([1, 2, 3, 4, 5]);
      });
    });

    it('20 transactions and 50 jobs get in each others way without an error', async () => {
      const transactions = Array.from({ length: 20 }, async (_, index) => {
        await new Promise((resolve) => setTimeout(resolve, index * 7));
        await dataSource.transaction(async (manager) => {
          await manager.query("INSERT INTO users (name) VALUES ('ada')");
          await new Promise((resolve) => setTimeout(resolve, 2));
        });
      });
      let done = 0;
      const worker = until(async () => {
        const found = await claim(store, { limit: 5 });
        for (const job of found) if ((await settle(store, job)) === 'settled') done += 1;
        return done === 50;
      });

      await Promise.all([...someJobs(50).map((job) => store.insert([job])), ...transactions, worker]);

      expect(await rig.rows()).toEqual([]);
      expect(await dataSource.query('SELECT * FROM users')).toHaveLength(20);
    });

    it('a reader that goes row by row is waited for', async () => {
      await dataSource.query("INSERT INTO users (name) VALUES ('ada'), ('bob')");
      const cursor = handleOf(dataSource).prepare('SELECT * FROM users').iterate();
      cursor.next();
      const insert = store.insert([aJob()]);
      await new Promise((resolve) => setImmediate(resolve));

      cursor.return?.();

      await insert;
      expect(await rig.rows()).toHaveLength(1);
    });

    it('works on a connection that the app has set to answer with BigInts', async () => {
      handleOf(dataSource).defaultSafeIntegers(true);
      const first = await claimed(store, aJob());
      const outcomes = [await settle(store, first, { kind: 'retried', delayMs: 60_000, error: 'no' })];
      outcomes.push(await settle(store, await claimed(store, aJob())));

      expect(outcomes).toEqual(['settled', 'settled']);
      expect(first.attempts).toBe(0);
      const rows = await dataSource.query('SELECT status, attempts FROM rws_jobs');
      expect(rows).toEqual([{ status: 'pending', attempts: 1n }]);
    });

    it("leaves the app's busy timeout as it was", async () => {
      await dataSource.query('PRAGMA busy_timeout = 1234');

      await settle(store, await claimed(store, aJob()));

      expect(handleOf(dataSource).pragma('busy_timeout', { simple: true })).toBe(1234);
    });

    it('leaves the connection free when the table is taken away between two claims', async () => {
      await claim(store, { types: ['a', 'b'] });
      await dataSource.query('DROP TABLE rws_jobs');

      await expect(claim(store, { types: ['a', 'b', 'c'] })).rejects.toThrow(StoreError);

      await expect(dataSource.query("INSERT INTO users (name) VALUES ('ada')")).resolves.toBeDefined();
    });

    it('leaves no transaction open when a verb fails', async () => {
      const job = aJob();
      await store.insert([job]);

      await expect(store.insert([aJob(), job])).rejects.toThrow(StoreError);

      expect(Reflect.get(handleOf(dataSource), 'inTransaction')).toBe(false);
      expect(await rig.rows()).toHaveLength(1);
    });
  },
  ['sqlite-file', 'sqlite-memory'],
);

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.clear());

    it('the event loop goes on while another connection holds the lock of the file', async () => {
      const store = await rig.open();
      const holder = handleOf(await database.connect());
      holder.exec('BEGIN IMMEDIATE');
      let turns = 0;
      const ticking = setInterval(() => (turns += 1), 1);

      const insert = store.insert([aJob()]);
      await until(() => turns > 20).finally(() => clearInterval(ticking));
      holder.exec('COMMIT');
      await insert;

      expect(await rig.rows()).toHaveLength(1);
    });

    it('the event loop goes on while another connection keeps readers out, as one without WAL does', async () => {
      const store = await rig.open();
      await (await rig.dataSource()).query('PRAGMA journal_mode = DELETE');
      const holder = handleOf(await database.connect());
      holder.exec('PRAGMA journal_mode = DELETE');
      const stop = await store.listen(() => undefined);
      holder.exec('BEGIN EXCLUSIVE');
      const begunAt = performance.now();

      const look = store.foreignClaims('me');
      await new Promise((resolve) => setTimeout(resolve, 100));
      const lastedMs = performance.now() - begunAt;
      holder.exec('COMMIT');
      await look;
      await stop();

      // SQLite by itself would wait for five seconds, each time.
      expect(lastedMs).toBeLessThan(2_500);
    });

    it('four connections claim at once without an error, and each job once', async () => {
      const stores = await Promise.all([rig.open(), rig.openAnother(), rig.openAnother(), rig.openAnother()]);
      await stores[0]?.insert(someJobs(300));

      const runs: string[] = [];
      await Promise.all(
        stores.map(async (store, index) => {
          for (;;) {
            const found = await claim(store, { limit: 7, owner: `owner-${index}` });
            if (found.length === 0) return;
            for (const job of found) if ((await settle(store, job)) === 'settled') runs.push(job.id);
          }
        }),
      );

      expect(new Set(runs).size).toBe(300);
      expect(runs).toHaveLength(300);
    });

    it('a job of another process wakes this one', async () => {
      const store = await rig.open();
      const other = await rig.openAnother();
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));

      await other.insert([aJob()]);

      await until(() => wakes > 0);
      await stop();
    });
  },
  ['sqlite-file'],
);
