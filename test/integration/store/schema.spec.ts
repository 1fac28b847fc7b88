import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EntitySchema, type DataSource } from 'typeorm';
import { InvalidOptionError, SchemaError, StoreError } from '../../../lib/model/errors.js';
import { CreateJobs1764547200000, jobMigrations } from '../../../lib/stores/typeorm/index.js';
import { createJobs } from '../../../lib/stores/typeorm/migrations/0001-create-jobs.js';
import { aJob } from '../../support/a-job.js';
import { Child, killChildren } from '../../support/child.js';
import { forEachDatabase, type TestDatabase } from '../../support/databases.js';
import { claim, StoreRig } from '../../support/store-rig.js';

const User = new EntitySchema<{ id: number; name: string }>({
  name: 'User',
  columns: { id: { type: 'int', primary: true }, name: { type: 'varchar', length: 20 } },
});

/** The names of the indexes of a table, without those of its primary key. */
async function indexesOf(dataSource: DataSource, table: string): Promise<readonly string[]> {
  const { type } = dataSource.options;
  const text =
    type === 'postgres'
      ? `SELECT indexname AS name FROM pg_indexes WHERE tablename = '${table}'`
      : type === 'mysql'
        ? `SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = '${table}'`
        : `SELECT name FROM pragma_index_list('${table}')`;
  const rows: readonly { name: string }[] = await dataSource.query(text);
  return rows
    .map(({ name }) => name)
    .filter((name) => !/pkey|PRIMARY|autoindex/.test(name))
    .toSorted();
}

/** Those that the table should have. */
function indexNames(database: TestDatabase, table = 'rws_jobs'): readonly string[] {
  const family = database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql');
  return createJobs.indexes
    .filter(({ definition }) => definition[family] !== undefined)
    .map(({ suffix }) => `${table}_${suffix}`)
    .toSorted();
}

async function dropIndex(dataSource: DataSource, index: string, table = 'rws_jobs'): Promise<void> {
  await dataSource.query(`DROP INDEX ${index}${dataSource.options.type === 'mysql' ? ` ON ${table}` : ''}`);
}

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  afterEach(() => rig.clear());

  describe("schema 'auto'", () => {
    it('makes the table, its indexes and its version', async () => {
      const store = await rig.open();
      await store.insert([aJob()]);

      const dataSource = await rig.dataSource();
      expect(await claim(store)).toHaveLength(1);
      expect(await indexesOf(dataSource, 'rws_jobs')).toEqual(indexNames(database));
      const [version] = await dataSource.query('SELECT * FROM rws_jobs_schema');
      expect([Number(version.version), Number(version.compatible_with)]).toEqual([1, 1]);
      expect(Math.abs(Number(version.applied_at) - Date.now())).toBeLessThan(600_000);
    });

    it('accepts what is there', async () => {
      const store = await rig.open();
      await store.insert([aJob()]);

      expect(await claim(await rig.openAnother())).toHaveLength(1);
      expect(await (await rig.dataSource()).query('SELECT * FROM rws_jobs_schema')).toHaveLength(1);
    });

    it('mends a missing index', async () => {
      await rig.open();
      const dataSource = await rig.dataSource();
      await dropIndex(dataSource, 'rws_jobs_pending');

      await rig.open();

      expect(await indexesOf(dataSource, 'rws_jobs')).toEqual(indexNames(database));
    });

    it('mends a missing column, and keeps the jobs', async () => {
      const first = await rig.open();
      await first.insert([aJob()]);
      const dataSource = await rig.dataSource();
      await dataSource.query('ALTER TABLE rws_jobs DROP COLUMN interruptions');

      const store = await rig.open();

      expect(await claim(store)).toEqual([expect.objectContaining({ interruptions: 0 })]);
    });

    it('mends a table whose version was never written down', async () => {
      await rig.open();
      const dataSource = await rig.dataSource();
      await dataSource.query('DROP TABLE rws_jobs_schema');

      await rig.open();

      expect(await dataSource.query('SELECT * FROM rws_jobs_schema')).toHaveLength(1);
    });

    it('leaves a table of somebody else alone', async () => {
      const dataSource = await rig.dataSource();
      await dataSource.query('CREATE TABLE rws_jobs (id INT, note VARCHAR(20))');

      const opening = rig.open();

      await expect(opening).rejects.toThrow(SchemaError);
      await expect(opening).rejects.toThrow(/tableName/);
      expect(await dataSource.query('SELECT id, note FROM rws_jobs')).toEqual([]);
    });

    it('can be tried again after it failed', async () => {
      const dataSource = await rig.dataSource();
      await dataSource.query('CREATE TABLE rws_jobs (id INT)');
      const store = rig.make(dataSource);
      await expect(store.open()).rejects.toThrow(SchemaError);
      await dataSource.query('DROP TABLE rws_jobs');

      await store.open();
      await store.insert([aJob()]);

      expect(await claim(store)).toHaveLength(1);
    });
  });

  describe("schema 'check'", () => {
    it('refuses a missing table, and says what to do', async () => {
      const opening = rig.open({ schema: 'check' });

      await expect(opening).rejects.toThrow(SchemaError);
      await expect(opening).rejects.toThrow(/does not exist.*nestjs-jobs\/typeorm.*schema: 'auto'/s);
      expect(await indexesOf(await rig.dataSource(), 'rws_jobs')).toEqual([]);
    });

    it('refuses a table without an index, and names it', async () => {
      await rig.open();
      await dropIndex(await rig.dataSource(), 'rws_jobs_pending');

      await expect(rig.open({ schema: 'check' })).rejects.toThrow(/version 1.*missing: index rws_jobs_pending/);
    });

    it('accepts a table that is right', async () => {
      await rig.open();

      const store = await rig.open({ schema: 'check' });

      expect(await claim(store)).toEqual([]);
    });
  });

  describe("schema 'none'", () => {
    it('does not look, so that the first verb finds out', async () => {
      const store = await rig.open({ schema: 'none' });

      await expect(store.insert([aJob()])).rejects.toThrow(StoreError);
    });

    it('works with a table that is right', async () => {
      await rig.open();

      const store = await rig.open({ schema: 'none' });
      await store.insert([aJob()]);

      expect(await claim(store)).toHaveLength(1);
    });
  });

  describe('a table of a later version', () => {
    it('is used where that version allows it', async () => {
      await rig.open();
      await (await rig.dataSource()).query('INSERT INTO rws_jobs_schema VALUES (7, 1, 0)');

      const store = await rig.open();

      expect(await claim(store)).toEqual([]);
    });

    it.each(['auto', 'check'] as const)("is refused where it does not, with schema '%s'", async (schema) => {
      await rig.open();
      await (await rig.dataSource()).query('INSERT INTO rws_jobs_schema VALUES (7, 6, 0)');

      await expect(rig.open({ schema })).rejects.toThrow(/version 7.*upgrade nestjs-jobs/s);
    });
  });

  describe('names', () => {
    it.each(['order', 'Select', '_x1', 'x'.repeat(50)])('table %s works', async (tableName) => {
      const store = await rig.open({ tableName });
      await store.insert([aJob()]);

      expect(await claim(store)).toHaveLength(1);
    });

    it('begin with the entityPrefix of the DataSource', async () => {
      const dataSource = await database.connect({ entityPrefix: 'app_' });

      await rig.openOn(dataSource);

      expect(await indexesOf(dataSource, 'app_rws_jobs')).toEqual(indexNames(database, 'app_rws_jobs'));
    });

    it('that are too long with the entityPrefix are refused', async () => {
      const dataSource = await database.connect({ entityPrefix: 'p'.repeat(45) });

      expect(() => rig.make(dataSource)).toThrow(InvalidOptionError);
    });

    it('of two queues stand side by side', async () => {
      const [one, two] = [await rig.open({ tableName: 'jobs' }), await rig.open({ tableName: 'jobs_b' })];
      await one.insert([aJob()]);

      expect(await claim(two)).toEqual([]);
      expect(await claim(one)).toHaveLength(1);
    });
  });

  describe('TypeORM', () => {
    it('leaves the table as it is, however often it synchronizes', async () => {
      const options = { synchronize: true, entities: [User] };
      // In memory each DataSource is a database of its own.
      let dataSource = await database.connect(options);
      await rig.openOn(dataSource);
      for (let boot = 2; boot <= 3; boot += 1) {
        if (database.name === 'sqlite-memory') await dataSource.synchronize();
        else dataSource = await database.connect(options);
        await rig.openOn(dataSource, { schema: 'check' });
      }

      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();

      expect(upQueries).toEqual([]);
      expect(await indexesOf(dataSource, 'rws_jobs')).toEqual(indexNames(database));
    });

    it('drops it with dropSchema, after which it is made anew', async () => {
      const dataSource = await database.connect({ entities: [User], synchronize: true });
      await rig.openOn(dataSource);
      await dataSource.dropDatabase();

      const store = await rig.openOn(dataSource);
      await store.insert([aJob()]);

      expect(await claim(store)).toHaveLength(1);
    });
  });

  describe('migrations', () => {
    it('make what the queue expects', async () => {
      const dataSource = await database.connect({ migrations: [CreateJobs1764547200000] });

      await dataSource.runMigrations();

      const store = await rig.openOn(dataSource, { schema: 'check' });
      await store.insert([aJob()]);
      expect(await claim(store)).toHaveLength(1);
    });

    it.each(['all', 'each', 'none'] as const)(
      'accept what the queue has made, transactions: %s',
      async (transaction) => {
        const dataSource = await database.connect({ migrations: jobMigrations() });
        const store = await rig.openOn(dataSource);
        await store.insert([aJob()]);

        await dataSource.runMigrations({ transaction });

        expect(await claim(store)).toHaveLength(1);
      },
    );

    it('are there for every table, side by side', async () => {
      const migrations = [...jobMigrations(), ...jobMigrations({ tableName: 'reports' })];
      const dataSource = await database.connect({ migrations });

      await dataSource.runMigrations();

      await rig.openOn(dataSource, { schema: 'check' });
      await rig.openOn(dataSource, { schema: 'check', tableName: 'reports' });
      expect(await dataSource.showMigrations()).toBe(false);
    });

    it('can be taken back', async () => {
      const dataSource = await database.connect({ migrations: jobMigrations() });
      await dataSource.runMigrations();

      await dataSource.undoLastMigration();

      await expect(rig.openOn(dataSource, { schema: 'check' })).rejects.toThrow(/does not exist/);
    });

    it('refuse a table name that is none', () => {
      expect(() => jobMigrations({ tableName: 'weird "name' })).toThrow(InvalidOptionError);
    });
  });
});

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(killChildren);
    afterEach(() => rig.clear());

    it('eight processes at once open missing and damaged tables without an error', async () => {
      const dataSource = await rig.dataSource();
      const tables = [
        'none_1',
        'none_2',
        'none_3',
        'index_1',
        'index_2',
        'index_3',
        'column_1',
        'column_2',
        'column_3',
      ];
      for (const tableName of tables.slice(3)) {
        await (await rig.open({ tableName, connections: 1 })).close();
        if (tableName.startsWith('index')) await dropIndex(dataSource, `${tableName}_pending`, tableName);
        else await dataSource.query(`ALTER TABLE ${tableName} DROP COLUMN claimed_by`);
      }
      const folder = await mkdtemp(join(tmpdir(), 'nestjs-jobs-start-'));
      const startFile = join(folder, 'at');
      const children = Array.from({ length: 8 }, () => start(database, tables, startFile));
      await Promise.all(children.map((child) => child.prints('ready', 60_000)));
      await writeFile(`${startFile}.new`, String(Date.now() + 200));
      await rename(`${startFile}.new`, startFile);

      const endings = await Promise.all(children.map(({ ended }) => ended));

      await rm(folder, { recursive: true });
      expect(new Set(children.map(({ output }) => output))).toEqual(new Set(['ready\n']));
      expect(endings.map(({ code }) => code)).toEqual(Array.from({ length: 8 }, () => 0));
      for (const table of tables) {
        expect(await indexesOf(dataSource, table)).toEqual(indexNames(database, table));
        expect(await dataSource.query(`SELECT claimed_by FROM ${table}`)).toEqual([]);
      }
    }, 120_000);

    it('a schema before the table is used', async () => {
      const dataSource = await rig.dataSource();
      const isPostgres = database.name === 'postgres';
      if (database.isSqlite) {
        expect(() => rig.make(dataSource, { tableName: 'other.jobs' })).toThrow(InvalidOptionError);
        return;
      }
      const schema = `other_${Date.now()}`;
      await dataSource.query(`CREATE SCHEMA ${schema}`);

      const store = await rig.open({ tableName: `${schema}.jobs` });
      await store.insert([aJob()]);
      await dataSource.transaction((manager) => store.insert([aJob()], manager));

      expect(await dataSource.query(`SELECT id FROM ${schema}.jobs`)).toHaveLength(2);
      expect(await claim(store)).toHaveLength(2);
      await store.close();
      await dataSource.query(`DROP SCHEMA ${schema}${isPostgres ? ' CASCADE' : ''}`);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);

function start(database: TestDatabase, tables: readonly string[], startFile: string): Child {
  return new Child(['.children/test/integration/apps/opens-tables.app.js'], {
    cwd: join(import.meta.dirname, '../../..'),
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      DATA_SOURCE: JSON.stringify(database.options()),
      TABLES: tables.join(','),
      START_FILE: startFile,
    },
  });
}

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    const role = `jobs_test_role_${process.pid}`;

    /** Another role of the server, with no right to define anything. */
    async function connectAsRole(): Promise<DataSource> {
      const url = new URL(String(Reflect.get(database.options(), 'url')));
      url.username = role;
      url.password = 'secret';
      return database.connect({ url: url.href });
    }

    beforeEach(async () => {
      const owner = await rig.dataSource();
      const isPostgres = database.name === 'postgres';
      await owner.query(
        isPostgres ? `CREATE ROLE ${role} LOGIN PASSWORD 'secret'` : `CREATE USER ${role} IDENTIFIED BY 'secret'`,
      );
      const place = isPostgres ? 'ALL TABLES IN SCHEMA public' : `${String(owner.driver.database)}.*`;
      if (isPostgres) await owner.query(`GRANT USAGE ON SCHEMA public TO ${role}`);
      if (isPostgres)
        await owner.query(`ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role}`);
      await owner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${place} TO ${role}`);
    });

    afterEach(async () => {
      const owner = await database.connect();
      const isPostgres = database.name === 'postgres';
      if (isPostgres) await owner.query(`DROP OWNED BY ${role}`);
      await owner.query(`DROP ${isPostgres ? 'ROLE' : 'USER'} ${role}`);
      await rig.clear();
    });

    it('a role that may define nothing gets the sentence that helps', async () => {
      const opening = rig.openOn(await connectAsRole());

      await expect(opening).rejects.toThrow(SchemaError);
      await expect(opening).rejects.toThrow(/role may not.*nestjs-jobs\/typeorm.*schema: 'check'/s);
    });

    it('a role that may define nothing works with a table that is ready', async () => {
      await rig.open();

      const store = await rig.openOn(await connectAsRole());
      await store.insert([aJob()]);

      expect(await claim(store)).toHaveLength(1);
    });
  },
  ['postgres', 'mysql'],
);

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.clear());

    it('four at once open a missing table where transactions are serializable by default', async () => {
      const extra = { options: '-c default_transaction_isolation=serializable' };
      const dataSources = await Promise.all([1, 2, 3, 4].map(() => database.connect({ extra })));

      await Promise.all(dataSources.map((dataSource) => rig.openOn(dataSource)));

      expect(await indexesOf(await rig.dataSource(), 'rws_jobs')).toEqual(indexNames(database, 'rws_jobs'));
    });
  },
  ['postgres'],
);
