import type { DataSource } from 'typeorm';
import type { PageRequest } from '../../../lib/stores/job-queries.js';
import type { AdminSql } from '../../../lib/stores/typeorm/admin/admin-sql.js';
import type { TextMaker } from '../../../lib/stores/typeorm/admin/sql-text.js';
import {
  claimsStatement,
  countRunningStatement,
  countStatement,
  listStatement,
  oldestDueStatement,
} from '../../../lib/stores/typeorm/admin/statements.js';
import type { Stream } from '../../../lib/stores/typeorm/streams.js';
import { MysqlAdmin } from '../../../lib/stores/typeorm/dialects/mysql-admin.js';
import type { MysqlConnections } from '../../../lib/stores/typeorm/dialects/mysql-pool.js';
import { PostgresAdmin } from '../../../lib/stores/typeorm/dialects/postgres-admin.js';
import { SqliteAdmin } from '../../../lib/stores/typeorm/dialects/sqlite-admin.js';
import type { SqliteGate } from '../../../lib/stores/typeorm/dialects/sqlite-gate.js';
import type { SqliteHandle } from '../../../lib/stores/typeorm/dialects/sqlite-handle.js';
import { someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, StoreRig } from '../../support/store-rig.js';

/** What no plan may say. */
const walks = /seq scan|SCAN rws_jobs(?! USING)|"rws_jobs","type":"ALL"|TEMP B-TREE|filesort/i;
/** The running rows, which are few, may be sorted. */
const sortsFew = /rws_jobs_running/;

const page = (filter: PageRequest['filter'], moment?: number): PageRequest => ({
  filter,
  limit: 50,
  after: { id: '01890000-0000-7000-8000-000000000000', moment },
  payload: 'without payload',
});

const looks: readonly (readonly [string, (sql: AdminSql) => TextMaker])[] = [
  ['waiting jobs of a type', (sql) => ofStream(listStatement(sql.words, page({ state: 'pending' }, 5)))],
  ['failed jobs', (sql) => ofNoType(listStatement(sql.words, page({ state: 'failed' }, 5)))],
  ['failed jobs of a type', (sql) => ofType(listStatement(sql.words, page({ state: 'failed' }, 5)))],
  ['all jobs', (sql) => ofNoType(listStatement(sql.words, page({})))],
  ['the count of waiting jobs', (sql) => ofType(countStatement(sql.words, 'pending', 1_000))],
  ['the count of failed jobs', (sql) => ofType(countStatement(sql.words, 'failed', 1_000))],
  ['the types of waiting jobs', (sql) => sql.words.typesIn('pending')],
  ['the types of failed jobs', (sql) => sql.words.typesIn('failed')],
  ['the oldest due job', (sql) => ofStream(oldestDueStatement(sql.words))],
  ['the streams of waiting jobs', (sql) => sql.words.streams],
];

const looksAtRunning: readonly (readonly [string, (sql: AdminSql) => TextMaker])[] = [
  ['running jobs', (sql) => ofNoType(listStatement(sql.words, page({ state: 'running' })))],
  ['the count of running jobs', (sql) => countRunningStatement(sql.words)],
  ['the claims', (sql) => claimsStatement(sql.words)],
];

function ofStream(make: TextMaker<Stream>): TextMaker {
  return (sql) => make(sql, { type: 'mine', queue: 'default', priority: 0 });
}

function ofType(make: TextMaker<string>): TextMaker {
  return (sql) => make(sql, 'mine');
}

function ofNoType(make: TextMaker<string | undefined>): TextMaker {
  return (sql) => make(sql, undefined);
}

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  let sql: AdminSql;

  beforeAll(async () => {
    const store = await rig.open();
    const dataSource = await rig.dataSource();
    const jobs = ['mine', 'foreign', 'other'].flatMap((type) => someJobs(20_000, { type, runAt: 1_000 }));
    await store.insert(jobs);
    await rig.set("status = 'failed', finished_at = created_at", "job_type = 'foreign'");
    await claim(store, { types: ['mine'], limit: 20 });
    if (database.name !== 'mysql') await dataSource.query('ANALYZE rws_jobs');
    else await dataSource.query('ANALYZE TABLE rws_jobs');
    sql = explaining[database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql')](dataSource);
  }, 120_000);

  afterAll(() => rig.clear());

  const planOf = async (look: (words: AdminSql) => TextMaker): Promise<readonly string[]> =>
    (await sql.read(look(sql))).map((row) => JSON.stringify(row));

  it.each(looks)('finds by an index, without a walk through the table or a sort: %s', async (what, look) => {
    const plan = await planOf(look);

    expect(plan.join('\n')).toMatch(/rws_jobs_|pkey|PRIMARY|autoindex/);
    // Where all rows are in all indexes, one more of them would cost every claim.
    const isLeft = database.name === 'mysql' && what === 'failed jobs of a type';
    expect(plan.filter((line) => walks.test(line))).toHaveLength(isLeft ? 1 : 0);
  });

  it.each(looksAtRunning)('looks at no more than the running rows for %s', async (_what, look) => {
    const plan = (await planOf(look)).join('\n');

    expect(plan).toMatch(database.name === 'mysql' ? /"key":"rws_jobs_pending"/ : sortsFew);
  });
});

/** The statements of each database, of which it only says how it would run them. */
const explaining: Readonly<Record<'postgres' | 'mysql' | 'sqlite', (dataSource: DataSource) => AdminSql>> = {
  postgres: (dataSource) =>
    new PostgresAdmin({
      names: () => ({ table: 'rws_jobs', slots: 'rws_jobs_slots', schedules: 'rws_jobs_schedules' }),
      run: async ({ text, values }) => ({
        rows: await dataSource.query(`EXPLAIN ${text}`, [...values]),
        rowCount: null,
      }),
      channel: () => undefined,
    }),
  mysql: (dataSource) => {
    const connection = {
      execute: (
        { sql, values }: { readonly sql: string; readonly values: readonly unknown[] },
        answered: (error: unknown, rows: unknown) => void,
      ) => {
        void dataSource
          .query(`EXPLAIN ${sql}`, [...values])
          .then((rows: unknown) => answered(null, rows))
          .catch((error: unknown) => answered(error, undefined));
      },
    };
    const connections = { use: (run: (one: unknown) => unknown) => run(connection) } as unknown as MysqlConnections;
    return new MysqlAdmin({
      names: { table: 'rws_jobs', slots: 'rws_jobs_slots', schedules: 'rws_jobs_schedules' },
      connections: () => connections,
      checkPayload: () => undefined,
    });
  },
  sqlite: (dataSource) => {
    const handle = Reflect.get(dataSource.driver, 'databaseConnection') as SqliteHandle;
    const prepare = (text: string) => handle.prepare(`EXPLAIN QUERY PLAN ${text}`);
    const gate = { run: async (block: (one: unknown) => unknown) => block({ prepare }) } as unknown as SqliteGate;
    return new SqliteAdmin({
      names: { table: '"rws_jobs"', slots: '"rws_jobs_slots"', schedules: '"rws_jobs_schedules"' },
      gate,
      now: () => Date.now(),
    });
  },
};
