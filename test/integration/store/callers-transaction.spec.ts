import type { DataSource } from 'typeorm';
import { InvalidManagerError, StoreError } from '../../../lib/model/errors.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { SqlFaults } from '../../support/sql-faults.js';
import { claim, StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

const undo = new Error('undo');
const insertion = /INSERT INTO \S*rws_jobs[`"]?\s/;

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  let dataSource: DataSource;
  let store: JobStore;

  beforeEach(async () => {
    dataSource = await rig.dataSource();
    store = await rig.open({ notify: false });
    await dataSource.query('CREATE TABLE users (name VARCHAR(20) NOT NULL)');
  });

  afterEach(() => rig.empty());

  describe("a job in the caller's transaction", () => {
    it('exists once the transaction has committed, with what else was written', async () => {
      await dataSource.transaction(async (manager) => {
        await manager.query("INSERT INTO users (name) VALUES ('ada')");
        await store.insert([aJob({ payload: '"🎉"' })], manager);
      });

      expect(await claim(store)).toEqual([expect.objectContaining({ payload: '"🎉"' })]);
      expect(await dataSource.query('SELECT * FROM users')).toHaveLength(1);
    });

    it('never existed when the transaction is rolled back', async () => {
      const transaction = dataSource.transaction(async (manager) => {
        await store.insert([aJob()], manager);
        throw undo;
      });

      await expect(transaction).rejects.toBe(undo);
      expect(await rig.rows()).toEqual([]);
    });

    it('goes with the savepoint that it was stored behind', async () => {
      const [kept, gone] = [aJob(), aJob()];

      await dataSource.transaction(async (manager) => {
        await store.insert([kept], manager);
        await manager
          .transaction(async (inner) => {
            await store.insert([gone], inner);
            throw undo;
          })
          .catch(() => undefined);
      });

      expect((await rig.rows()).map(({ id }) => id)).toEqual([kept.id]);
    });

    it('comes with as many others as you like', async () => {
      await dataSource.transaction((manager) => store.insert(someJobs(777), manager));

      expect(await rig.rows()).toHaveLength(777);
    });

    it('takes none of the others with it when one cannot be stored, nor the rest of the transaction', async () => {
      const jobs = someJobs(700);

      const transaction = dataSource.transaction(async (manager) => {
        await manager.query("INSERT INTO users (name) VALUES ('ada')");
        await store.insert([...jobs, aJob({ id: jobs[0]?.id ?? '' })], manager).catch((error: unknown) => {
          // PostgreSQL ends the transaction at the first error; the others go on.
          if (database.name === 'postgres') throw error;
        });
      });

      if (database.name === 'postgres') await expect(transaction).rejects.toThrow();
      else await transaction;
      expect(await rig.rows()).toEqual([]);
      expect(await dataSource.query('SELECT * FROM users')).toHaveLength(database.name === 'postgres' ? 0 : 1);
    });

    it("leaves the database's error as it is", async () => {
      const job = aJob();
      await store.insert([job]);

      const error: unknown = await dataSource
        .transaction((manager) => store.insert([job], manager))
        .catch((thrown: unknown) => thrown);

      expect(error).not.toBeInstanceOf(StoreError);
      expect(String(Reflect.get(Object(error), 'code'))).toMatch(/23505|ER_DUP_ENTRY|SQLITE_CONSTRAINT/);
    });

    it('works with a query runner of your own', async () => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      await store.insert([aJob()], runner.manager);
      await runner.commitTransaction();
      await runner.release();

      expect(await rig.rows()).toHaveLength(1);
    });
  });

  describe('a statement that the database refuses for a passing reason', () => {
    let faults: SqlFaults;

    beforeEach(() => {
      faults = new SqlFaults(database);
    });

    afterEach(() => faults.restore());

    it("is said once in the caller's transaction, which is over by then, and he hears the driver's own error", async () => {
      faults.fail({ statement: insertion, times: 1, error: 'passing' });

      const error: unknown = await dataSource
        .transaction((manager) => store.insert([aJob()], manager))
        .catch((thrown: unknown) => thrown);

      expect(faults.hits).toBe(1);
      expect(error).not.toBeInstanceOf(StoreError);
      expect(Reflect.get(Object(error), 'code')).toMatch(/^(40P01|ER_LOCK_DEADLOCK|SQLITE_BUSY)$/);
      expect(await rig.rows()).toEqual([]);
    });

    it('is said again outside of one', async () => {
      faults.fail({ statement: insertion, times: 2, error: 'passing' });

      await store.insert([aJob()]);

      expect(faults.hits).toBe(2);
      expect(await rig.rows()).toHaveLength(1);
    });
  });

  describe('a wake', () => {
    it('comes after the commit, not before', async () => {
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));

      await dataSource.transaction(async (manager) => {
        await store.insert([aJob()], manager);
        await manager.transaction((inner) => store.insert([aJob()], inner));
        expect(wakes).toBe(0);
      });

      await until(() => wakes > 0);
      await stop();
    });

    it('does not come after a rollback', async () => {
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));

      await dataSource
        .transaction(async (manager) => {
          await store.insert([aJob()], manager);
          throw undo;
        })
        .catch(() => undefined);
      await dataSource.transaction(async (manager) => manager.query("INSERT INTO users (name) VALUES ('ada')"));

      expect(wakes).toBe(0);
      await stop();
    });

    it('comes also after the DataSource was initialized anew', async () => {
      // In memory the table is gone with the connection.
      if (database.name === 'sqlite-memory') return;
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));
      await dataSource.destroy();
      await dataSource.initialize();

      await dataSource.transaction((manager) => store.insert([aJob()], manager));

      await until(() => wakes > 0);
      await stop();
    });
  });

  describe('a manager', () => {
    it('without a transaction is refused', async () => {
      await expect(store.insert([aJob()], dataSource.manager)).rejects.toThrow(InvalidManagerError);
      expect(await rig.rows()).toEqual([]);
    });

    it('whose query runner has no transaction is refused', async () => {
      const runner = dataSource.createQueryRunner();

      await expect(store.insert([aJob()], runner.manager)).rejects.toThrow(InvalidManagerError);

      await runner.release();
    });

    it('whose transaction is over is refused', async () => {
      let leaked: unknown;
      await dataSource.transaction(async (manager) => {
        leaked = manager;
      });

      await expect(store.insert([aJob()], leaked)).rejects.toThrow(InvalidManagerError);
      expect(await rig.rows()).toEqual([]);
    });

    it('of another DataSource is refused', async () => {
      const foreign = await database.connect();

      await foreign.transaction(async (manager) => {
        await expect(store.insert([aJob()], manager)).rejects.toThrow(/another DataSource/);
      });
    });

    it.each([null, 'manager', 7, {}])('that is none is refused: %p', async (manager) => {
      await expect(store.insert([aJob()], manager)).rejects.toThrow(InvalidManagerError);
    });
  });
});

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.empty());

    it.each(['latin1', 'utf8mb4'])(
      "a job is stored whole over the app's connection with charset %s",
      async (charset) => {
        const dataSource = await database.connect({ charset });
        await rig.openOn(dataSource);
        const store = await rig.openOn(dataSource);
        const payload = JSON.stringify(`漢字 🎉 ß ' " \\`);

        await dataSource.transaction(async (manager) => {
          await manager.query("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
          await store.insert(
            [aJob({ type: "t'ÿpe 🎉", payload }), ...someJobs(40, { type: 'other', payload })],
            manager,
          );
        });

        const found = await claim(store, { types: ["t'ÿpe 🎉", 'other'], limit: 50 });
        expect(new Set(found.map((job) => job.payload))).toEqual(new Set([payload]));
        expect(found.filter(({ type }) => type === "t'ÿpe 🎉")).toHaveLength(1);
      },
    );
  },
  ['mysql'],
);

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.empty());

    it('a job goes into the table of the queue, whatever search path the transaction has', async () => {
      const dataSource = await rig.dataSource();
      const store = await rig.open();
      await dataSource.query('CREATE SCHEMA tenant');

      await dataSource.transaction(async (manager) => {
        await manager.query('SET LOCAL search_path = tenant');
        await store.insert([aJob()], manager);
      });

      expect(await claim(store)).toHaveLength(1);
      await dataSource.query('DROP SCHEMA tenant');
    });
  },
  ['postgres'],
);
