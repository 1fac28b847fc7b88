import type { DataSource } from 'typeorm';
import { sqlNames } from '../../../lib/stores/typeorm/table-name.js';
import {
  firstOfKeysStatement,
  keysStatement,
  waitingKeysStatement,
} from '../../../lib/stores/typeorm/dialects/mysql-keys.js';
import { countRunningStatement as mysqlCount } from '../../../lib/stores/typeorm/dialects/mysql-limits.js';
import { claimTheseStatement } from '../../../lib/stores/typeorm/dialects/postgres-exchange.js';
import { dueKeysStatement, headsStatement } from '../../../lib/stores/typeorm/dialects/postgres-keys.js';
import { countRunningStatement, lookAtLimitsStatement } from '../../../lib/stores/typeorm/dialects/postgres-limits.js';
import { SqliteStatements } from '../../../lib/stores/typeorm/dialects/sqlite-statements.js';
import type { SqliteHandle } from '../../../lib/stores/typeorm/dialects/sqlite-handle.js';
import { forEachDatabase, type TestDatabase } from '../../support/databases.js';
import { StoreRig } from '../../support/store-rig.js';

const ofEach = 25_000;
const id = '01a22d26-419f-77fa-99cc-1649a89996e9';
const asked = { type: 'order', isKeyed: true, globalConcurrency: 5, most: 4, graceMs: 1_000 };
const claim = { types: ['order'], limit: 4, owner: 'ada', leaseMs: 60_000 };
const request = { types: [asked], limit: 4, owner: 'ada', leaseMs: 60_000 };

/** What no plan may say: that the whole table is read, or sorted. */
const walks =
  /seq scan on rws_jobs\b|SCAN rws_jobs(?! USING (COVERING )?INDEX rws_jobs_running)|ALL rws_jobs|filesort of/i;

/** A key with very many due jobs, as many keys with one that is not due, and some keys behind all of them. */
async function crowd(dataSource: DataSource, database: TestDatabase): Promise<void> {
  const kind = database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql');
  const newId = { postgres: 'gen_random_uuid()', mysql: 'UUID()', sqlite: 'lower(hex(randomblob(18)))' }[kind];
  const numbers = {
    postgres: `generate_series(1, ${2 * ofEach}) AS n(n)`,
    mysql: `seq_1_to_${2 * ofEach}`,
    sqlite: 'n',
  }[kind];
  const n = kind === 'mysql' ? 'seq' : 'n';
  const name = { postgres: "'key ' || n", mysql: "CONCAT('key ', seq)", sqlite: "'key ' || n" }[kind];
  const recursion =
    kind === 'sqlite' ? `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${2 * ofEach}) ` : '';
  await dataSource.query(`INSERT INTO rws_jobs (id, job_type, payload, status, max_retries, next_run_at, created_at, job_key)
    ${recursion}SELECT ${newId}, 'order', 'null', 'pending', 3, CASE ${n} % 2 WHEN 0 THEN ${n} ELSE 9000000000000 END, 1,
      CASE ${n} % 2 WHEN 0 THEN 'busy' ELSE ${name} END
    FROM ${numbers}`);
}

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  afterEach(() => rig.clear());

  it('a claim of jobs with keys steps through the index, past 25 000 jobs of one key and 25 000 keys with nothing to do', async () => {
    const store = await rig.open();
    const dataSource = await rig.dataSource();
    await crowd(dataSource, database);

    expect((await planOf(dataSource, database)).filter((line) => walks.test(line))).toEqual([]);

    const { claimed } = await store.claimLimited(request);
    expect(claimed.map(({ key }) => key)).toEqual(['busy']);
    expect((await store.claimLimited(request)).claimed).toEqual([]);
    await rig.set('next_run_at = 5', "job_key = 'key 1'");
    await rig.set("job_key = 'a key in front'", "job_key = 'key 3'");
    await rig.set('next_run_at = 6', "job_key = 'a key in front'");
    const next = [...(await store.claimLimited(request)).claimed, ...(await store.claimLimited(request)).claimed];
    expect(new Set(next.map(({ key }) => key))).toEqual(new Set(['a key in front', 'key 1']));
  }, 120_000);
});

/** What the database says it would do, one step a line. */
async function planOf(dataSource: DataSource, database: TestDatabase): Promise<readonly string[]> {
  if (database.name === 'postgres') return postgresPlan(dataSource);
  return database.name === 'mysql' ? mysqlPlan(dataSource) : sqlitePlan(dataSource);
}

async function postgresPlan(dataSource: DataSource): Promise<readonly string[]> {
  await dataSource.query('ANALYZE rws_jobs');
  const names = sqlNames({ schema: undefined, table: 'rws_jobs' }, '"');
  const statements = [
    lookAtLimitsStatement(names, [asked]),
    countRunningStatement('rws_jobs', 'order', 5),
    dueKeysStatement(names, claim),
    headsStatement(names, { type: 'order', source: { after: 'key 7', count: 16 } }),
    headsStatement(names, { type: 'order', source: { keys: ['busy', 'key 1'] } }),
    claimTheseStatement('rws_jobs', [id], claim),
  ];
  const lines: string[] = [];
  for (const { text, values } of statements) {
    const rows: readonly Record<string, string>[] = await dataSource.query(`EXPLAIN ${text}`, [...values]);
    lines.push(...rows.map((row) => row['QUERY PLAN'] ?? ''));
  }
  expect(lines.join('\n')).toMatch(/rws_jobs_keyed/);
  return lines;
}

async function mysqlPlan(dataSource: DataSource): Promise<readonly string[]> {
  await dataSource.query('ANALYZE TABLE rws_jobs');
  const names = sqlNames({ schema: undefined, table: 'rws_jobs' }, '`');
  const statements = [
    keysStatement(names, 'order', 'order\nkey 7'),
    firstOfKeysStatement(names, ['order\nbusy', 'order\nkey 1']),
    waitingKeysStatement(names, ['order\nbusy']),
    mysqlCount('rws_jobs', 'order'),
  ];
  const lines: string[] = [];
  for (const { text, values } of statements) {
    const rows: readonly Record<string, unknown>[] = await dataSource.query(`EXPLAIN ${text}`, [...values]);
    for (const { table, type, key, Extra } of rows.filter((row) => row['table'] === 'rws_jobs')) {
      const isSorted = String(Extra).includes('filesort');
      lines.push(`${String(type)} ${String(table)} ${String(key)} ${isSorted ? 'filesort of it' : String(Extra)}`);
    }
  }
  expect(lines.join('\n')).toMatch(/rws_jobs_keyed/);
  return lines;
}

async function sqlitePlan(dataSource: DataSource): Promise<readonly string[]> {
  const handle = Reflect.get(dataSource.driver, 'databaseConnection') as SqliteHandle;
  const explaining: SqliteHandle = {
    ...handle,
    open: true,
    memory: false,
    inTransaction: false,
    exec: () => undefined,
    prepare: (text) => handle.prepare(`EXPLAIN QUERY PLAN ${text}`),
  };
  const statements = new SqliteStatements(explaining, sqlNames({ schema: undefined, table: 'rws_jobs' }, '"'));
  return [
    ...statements.get('nextKey').all('order', 'key 7'),
    ...statements.get('firstOfKey').all('order', 'busy'),
    ...statements.get('waitsOfKey').all('order', 'busy', Date.now()),
    ...statements.get('countRunning').all('order', 5),
    ...statements.get('pendingById').all(id),
  ].map((row) => String(row['detail']));
}
