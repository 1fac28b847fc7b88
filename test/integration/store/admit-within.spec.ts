import type { DataSource, EntityManager } from 'typeorm';
import type { NewJob } from '../../../lib/model/job.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { aJob } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, settle, StoreRig } from '../../support/store-rig.js';
import { sinceInnodbTrx, until } from '../../support/until.js';

const undo = new Error('undo');

function keyed(given: Partial<NewJob> = {}): NewJob {
  return aJob({ uniqueKey: 'ada', ...given });
}

/** What came of one job. */
async function outcome(store: JobStore, job: NewJob, manager?: EntityManager): Promise<string> {
  const [result] = await store.admit([job], manager);
  return `${result?.outcome} ${result?.id}`;
}

forEachDatabase((database) => {
  // A new table for each test: on MySQL, entries of keys that are gone but not purged yet hold up others, see docs/databases.md.
  const rig = new StoreRig(database);
  let dataSource: DataSource;
  let store: JobStore;

  beforeEach(async () => {
    dataSource = await rig.dataSource();
    store = await rig.open({ notify: false });
    await dataSource.query('CREATE TABLE users (name VARCHAR(20) NOT NULL)');
  });

  afterEach(() => rig.clear());

  const countUsers = async (): Promise<number> =>
    ((await dataSource.query('SELECT * FROM users')) as readonly unknown[]).length;
  const addUser = (manager: EntityManager): Promise<unknown> =>
    manager.query("INSERT INTO users (name) VALUES ('ada')");

  describe("a job with a key in the caller's transaction", () => {
    it('holds its key from the commit on', async () => {
      const job = keyed();

      await dataSource.transaction(async (manager) => {
        expect(await outcome(store, job, manager)).toBe(`stored ${job.id}`);
      });

      expect(await outcome(store, keyed())).toBe(`waiting ${job.id}`);
    });

    it('frees its key with a rollback', async () => {
      const transaction = dataSource.transaction(async (manager) => {
        await store.admit([keyed()], manager);
        throw undo;
      });
      await expect(transaction).rejects.toBe(undo);
      const job = keyed();

      expect(await outcome(store, job)).toBe(`stored ${job.id}`);
    });

    it('is a duplicate of what the transaction itself has stored', async () => {
      const job = keyed({ payload: '1' });

      await dataSource.transaction(async (manager) => {
        await store.admit([job], manager);
        expect(await outcome(store, keyed(), manager)).toBe(`waiting ${job.id}`);
        expect(await outcome(store, keyed({ payload: '2', onDuplicate: 'replace' }), manager)).toBe(
          `replaced ${job.id}`,
        );
      });

      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, payload: '2' })]);
    });

    it.each(['keep', 'replace'] as const)(
      'leaves the transaction usable when it is a duplicate: %s',
      async (onDuplicate) => {
        const job = keyed();
        await store.admit([job]);

        await dataSource.transaction(async (manager) => {
          await addUser(manager);
          await store.admit([keyed({ onDuplicate }), aJob({ type: 'other' })], manager);
          await addUser(manager);
        });

        expect(await countUsers()).toBe(2);
        expect(await rig.rows()).toHaveLength(2);
      },
    );

    it('undoes with a rollback what it has replaced', async () => {
      const job = keyed({ payload: '"old"' });
      await store.admit([job]);

      const transaction = dataSource.transaction(async (manager) => {
        await store.admit([keyed({ payload: '"new"', onDuplicate: 'replace' })], manager);
        throw undo;
      });

      await expect(transaction).rejects.toBe(undo);
      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, payload: '"old"' })]);
    });

    it('gives back a throttle with a rollback', async () => {
      const throttled = (): NewJob => aJob({ throttle: { key: '', windowMs: 600_000 } });
      const transaction = dataSource.transaction(async (manager) => {
        await store.admit([throttled()], manager);
        throw undo;
      });
      await expect(transaction).rejects.toBe(undo);
      const job = throttled();

      await dataSource.transaction(async (manager) => {
        expect(await outcome(store, job, manager)).toBe(`stored ${job.id}`);
        expect(await outcome(store, throttled(), manager)).toBe(`throttled ${job.id}`);
      });

      expect(await outcome(store, throttled())).toBe(`throttled ${job.id}`);
    });
  });
});

/** Where transactions run beside each other, each may see the table as it was when it began. */
forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    let dataSource: DataSource;
    let store: JobStore;

    beforeEach(async () => {
      dataSource = await rig.dataSource();
      store = await rig.open({ notify: false, connections: 3 });
      await dataSource.query('CREATE TABLE users (name VARCHAR(20) NOT NULL)');
    });

    afterEach(() => rig.clear());

    /** A transaction that has looked at the job table, and at an isolation that lets it see only that from then on. */
    function inTransaction<T>(run: (manager: EntityManager) => Promise<T>): Promise<T> {
      return dataSource.transaction('REPEATABLE READ', async (manager) => {
        await manager.query('SELECT count(*) FROM rws_jobs');
        const result = await run(manager);
        await manager.query("INSERT INTO users (name) VALUES ('ada')");
        return result;
      });
    }

    /** Resolves while a statement waits for a lock. */
    async function isWaitedFor(): Promise<void> {
      const text =
        database.name === 'postgres'
          ? "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
          : `SELECT t.trx_id FROM information_schema.innodb_trx AS t
             JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
             WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'`;
      const isWaiting = async (): Promise<boolean> => ((await dataSource.query(text)) as readonly unknown[]).length > 0;
      await until(isWaiting, { what: 'a wait for a lock', every: sinceInnodbTrx });
    }

    /** Whoever waits for a key gives up after some seconds, which a busy machine may need for what is done meanwhile. */
    function patiently<T>(admit: () => Promise<T>): Promise<T> {
      return admit().catch((error: unknown) => {
        if (String(error).includes('LOCK_WAIT_TIMEOUT') || String(error).includes('55P03')) return patiently(admit);
        throw error;
      });
    }

    async function complete(): Promise<void> {
      const [job] = await claim(store);
      if (job !== undefined) await settle(store, job);
    }

    describe('a transaction that sees the table as it was', () => {
      it('finds the job that was stored meanwhile', async () => {
        const job = keyed();

        const found = await inTransaction(async (manager) => {
          await store.admit([job]);
          return outcome(store, keyed(), manager);
        });

        expect(found).toBe(`waiting ${job.id}`);
      });

      it('finds the job that was claimed meanwhile', async () => {
        const job = keyed();
        await store.admit([job]);

        const found = await inTransaction(async (manager) => {
          await claim(store);
          return [
            await outcome(store, keyed(), manager),
            await outcome(store, keyed({ onDuplicate: 'replace' }), manager),
          ];
        });

        expect(found).toEqual([`running ${job.id}`, `running ${job.id}`]);
      });

      it('takes no job for one that holds the key, which it still sees, but which is over', async () => {
        await store.admit([keyed()]);
        const job = keyed();

        const found = await inTransaction(async (manager) => {
          await complete();
          return outcome(store, job, manager);
        });

        expect(found).toBe(`stored ${job.id}`);
        expect((await claim(store)).map(({ id }) => id)).toEqual([job.id]);
      });

      it('finds the second job where it still sees the first', async () => {
        await store.admit([keyed()]);
        const second = keyed();

        const found = await inTransaction(async (manager) => {
          await complete();
          await store.admit([second]);
          return store.admit([aJob({ type: 'other' }), keyed(), keyed({ uniqueKey: 'free' })], manager);
        });

        expect(found.map((result) => result.outcome)).toEqual(['stored', 'waiting', 'stored']);
        expect(found[1]?.id).toBe(second.id);
      });

      it('respects the throttle that was used meanwhile', async () => {
        const throttled = (): NewJob => aJob({ throttle: { key: '', windowMs: 600_000 } });
        const job = throttled();

        const found = await inTransaction(async (manager) => {
          await store.admit([job]);
          return outcome(store, throttled(), manager);
        });

        expect(found).toBe(`throttled ${job.id}`);
      });
    });

    describe('an open transaction with a duplicate', () => {
      it('does not keep the running job from being completed', async () => {
        await store.admit([keyed()]);
        const [running] = await claim(store);

        await dataSource.transaction(async (manager) => {
          await store.admit([keyed(), keyed({ onDuplicate: 'replace' })], manager);
          if (running !== undefined) expect(await settle(store, running)).toBe('settled');
        });

        expect(await rig.rows()).toEqual([]);
      });

      it('does not keep the running job from being retried, failed or renewed', async () => {
        await store.admit([keyed()]);
        const [running] = await claim(store);

        await dataSource.transaction(async (manager) => {
          await store.admit([keyed({ onDuplicate: 'replace' })], manager);
          if (running === undefined) throw new Error('there was nothing to claim');
          expect(await store.extend([running], 60_000)).toEqual([]);
          expect(await settle(store, running, { kind: 'failed', error: 'boom' })).toBe('settled');
        });

        expect(await rig.row()).toMatchObject({ status: 'failed' });
      });

      it('does not keep the waiting job from being claimed', async () => {
        const job = keyed();
        await store.admit([job]);

        await dataSource.transaction(async (manager) => {
          await store.admit([keyed()], manager);
          expect((await claim(store)).map(({ id }) => id)).toEqual([job.id]);
        });
      });

      it('lets a job that it has replaced run from its commit on, with what is new', async () => {
        const job = keyed({ payload: '"old"' });
        await store.admit([job]);

        await dataSource.transaction(async (manager) => {
          await store.admit([keyed({ payload: '"new"', onDuplicate: 'replace' })], manager);
          expect(await claim(store)).toEqual([]);
        });

        expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, payload: '"new"' })]);
      });
    });

    describe('an open transaction that has stored a job', () => {
      it('is waited for by a duplicate, and by nobody else', async () => {
        const job = keyed();
        let waiting: Promise<string> | undefined;

        await dataSource.transaction(async (manager) => {
          await store.admit([job], manager);
          waiting = patiently(() => outcome(store, keyed()));
          await isWaitedFor();
          await store.insert([aJob({ type: 'plain' })]);
          expect(await claim(store, { types: ['plain'] })).toHaveLength(1);
          await isWaitedFor();
        });

        expect(await waiting).toBe(`waiting ${job.id}`);
      });

      it('leaves the key to whoever waits when it is rolled back', async () => {
        const job = keyed();
        let waiting: Promise<string> | undefined;

        const rolledBack = dataSource.transaction(async (manager) => {
          await store.admit([keyed()], manager);
          waiting = outcome(store, job);
          throw undo;
        });

        await expect(rolledBack).rejects.toBe(undo);
        expect(await waiting).toBe(`stored ${job.id}`);
      });

      it('costs nobody who waits too long more than an error, and nothing is stored', async () => {
        const runner = dataSource.createQueryRunner();
        await runner.startTransaction();
        await store.admit([keyed()], runner.manager);

        await expect(store.admit([keyed()])).rejects.toMatchObject({ code: 'JOBS_STORE' });

        await runner.rollbackTransaction();
        await runner.release();
        await until(async () => (await rig.rows()).length === 0);
      }, 60_000);
    });
  },
  ['postgres', 'mysql'],
);
