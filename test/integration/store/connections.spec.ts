import type { DataSource } from 'typeorm';
import { StoreError } from '../../../lib/model/errors.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { closeOwnDataSource, openOwnDataSource } from '../../../lib/stores/typeorm/own-data-source.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { forEachDatabase, type TestDatabase } from '../../support/databases.js';
import { claim, claimed, settle, StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

/** A client of pg, as its option `verify` gets it. */
interface FreshClient {
  readonly connection: { readonly stream: { destroy(error: Error): unknown } };
  readonly connectionParameters: { readonly application_name?: string };
  query(text: string): Promise<unknown>;
}

/** Ends every connection of this database but that of the DataSource itself, as a restart of the server would. */
async function endConnections(admin: DataSource, database: TestDatabase): Promise<number> {
  if (database.name === 'postgres') {
    const ended: readonly unknown[] = await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return ended.length;
  }
  const rows: readonly { id: number }[] = await admin.query(
    'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
  );
  for (const { id } of rows) await admin.query(`KILL ${id}`);
  return rows.length;
}

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    let store: JobStore;

    beforeEach(async () => {
      store = await rig.open();
    });

    afterEach(() => rig.clear());

    it("a store works while others hold all connections of the app's pool", async () => {
      const isPostgres = database.name === 'postgres';
      const app = await database.connect({ extra: isPostgres ? { max: 1 } : { connectionLimit: 1 } });
      const own = await rig.openOn(app, { connections: 1 });

      await app.transaction(async (manager) => {
        await manager.query('SELECT 1');
        const job = await claimed(own, aJob());
        expect(await own.extend([job], 1_000)).toEqual([]);
        expect(await settle(own, job)).toBe('settled');
        await own.insert([aJob()]);
      });

      expect(await rig.rows()).toHaveLength(1);
    });

    it('a store goes on after its connections were ended', async () => {
      const admin = await database.connect();
      await claimed(store, aJob());

      expect(await endConnections(admin, database)).toBeGreaterThan(0);

      await until(async () => {
        try {
          await store.insert([aJob()]);
          return true;
        } catch (error) {
          expect(error).toBeInstanceOf(StoreError);
          return false;
        }
      });
      expect(await claim(store)).not.toEqual([]);
    });

    it("statements of the store do not come into the app's log", async () => {
      const logged: unknown[] = [];
      const log = (...what: readonly unknown[]): void => {
        logged.push(...what.filter((one) => typeof one === 'string' || Array.isArray(one)));
      };
      const logger = {
        logQuery: log,
        logQueryError: log,
        logQuerySlow: log,
        logSchemaBuild: log,
        logMigration: log,
        log,
      };
      const app = await database.connect({ logger, logging: 'all' });
      logged.length = 0;
      const own = await rig.openOn(app);
      const job = aJob({ payload: '"secret"' });

      await own.insert([job]);
      await app.transaction((manager) => own.insert([aJob({ payload: '"secret"' })], manager));
      await claim(own);

      expect(JSON.stringify(logged)).not.toMatch(/secret|INSERT/);
    });

    it('nothing of the store is left when it is closed', async () => {
      const app = await rig.dataSource();
      const stop = await store.listen(() => undefined);
      await claim(store);

      await stop();
      await store.close();

      const count =
        database.name === 'postgres'
          ? "SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'nestjs-jobs'"
          : 'SELECT COUNT(*) - 1 AS count FROM information_schema.processlist WHERE db = DATABASE()';
      await until(async () => Number((await app.query(count))[0].count) === 0);
    });

    it('closing twice is as good as once', async () => {
      await store.close();

      await expect(store.close()).resolves.toBeUndefined();
    });

    it('a store that is closed says so', async () => {
      await store.close();

      await expect(store.insert([aJob()])).rejects.toThrow(StoreError);
    });

    it('an unreachable server is an error with a cause, not a crash', async () => {
      const app = await rig.dataSource();
      const lost = rig.make(app);
      Object.assign(app.options, { url: String(Reflect.get(app.options, 'url')).replace(/:\d+\//, ':1/') });

      const error: unknown = await lost.open().catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(StoreError);
      expect(String(error)).toContain('ECONNREFUSED');
    });

    it('no statement of the store is compiled, whatever the server thinks of its cost', async () => {
      if (database.name !== 'postgres') return;
      let verified = 0;
      const verify = (_client: unknown, done: () => void): void => {
        verified += 1;
        done();
      };
      const app = await database.connect({ extra: { verify } });
      const own = await openOwnDataSource(app, 1);

      expect(await own.query('SHOW jit')).toEqual([{ jit: 'off' }]);
      expect(await app.query('SHOW jit')).toEqual([{ jit: 'on' }]);
      expect(verified).toBe(2);
      await closeOwnDataSource(own);
    });

    it('a connection that breaks before its first use is an error of the statement that wanted it, and ends no process', async () => {
      if (database.name !== 'postgres') return;
      let ended = 0;
      const verify = (client: FreshClient, done: (error?: unknown) => void): void => {
        if (client.connectionParameters.application_name !== 'nestjs-jobs') return done();
        ended += 1;
        const fail = (error: unknown): void => done(error);
        void client.query('SELECT pg_sleep(60)').catch(fail);
        client.connection.stream.destroy(new Error('broken on purpose'));
      };
      const app = await database.connect({ extra: { verify } });

      await expect(openOwnDataSource(app, 1)).rejects.toThrow('broken on purpose');

      expect(ended).toBe(1);
    });
  },
  ['postgres', 'mysql'],
);

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  afterEach(() => rig.clear());

  it('producers, claimers, heartbeats and recoveries at once raise no error, and every job runs once', async () => {
    const stores = await Promise.all([rig.open(), rig.openAnother()]);
    const jobs = someJobs(400);
    const runs: string[] = [];
    let isOver = false;
    const produce = async (store: JobStore, part: number): Promise<void> => {
      for (let index = part; index < jobs.length; index += 4) await store.insert(jobs.slice(index, index + 1));
    };
    const work = async (store: JobStore, owner: string): Promise<void> => {
      while (!isOver) {
        const found = await claim(store, { limit: 7, owner });
        expect(await store.extend(found, 600_000)).toEqual([]);
        const { lost } = await store.exchange({
          settle: found.map(({ id, token }, index) => ({
            id,
            token,
            outcome: index === 3 ? { kind: 'released', delayMs: 0 } : { kind: 'completed' },
          })),
          claim: undefined,
        });
        expect(lost).toEqual([]);
        runs.push(...found.filter((_job, index) => index !== 3).map(({ id }) => id));
        if (found.length === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const keepHouse = async (store: JobStore): Promise<void> => {
      while (!isOver) {
        expect(await store.recover({ owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 10 })).toEqual([]);
        await store.pendingTypes();
      }
    };
    const everybody = [0, 1, 2, 3].map((part) => work(stores[part % 2] as JobStore, `owner-${part}`));
    everybody.push(keepHouse(stores[0] as JobStore));

    await Promise.all([0, 1, 2, 3].map((part) => produce(stores[part % 2] as JobStore, part)));
    await until(() => runs.length >= jobs.length, { within: 25_000 }).finally(() => (isOver = true));
    await Promise.all(everybody);

    expect(runs.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
    expect(await rig.rows()).toEqual([]);
  });
});
