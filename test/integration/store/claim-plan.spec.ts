import type { DataSource } from 'typeorm';
import type { Row } from '../../../lib/stores/typeorm/job-row.js';
import { sqlNames } from '../../../lib/stores/typeorm/table-name.js';
import {
  candidatesStatement,
  nextStreamsStatement,
  streamsStatement,
} from '../../../lib/stores/typeorm/dialects/mysql-streams.js';
import {
  expiredStatement,
  pendingTypesStatement as mysqlPendingTypes,
  prunableStatements,
} from '../../../lib/stores/typeorm/dialects/mysql-upkeep.js';
import { exchangeStatement } from '../../../lib/stores/typeorm/dialects/postgres-exchange.js';
import {
  disownStatement,
  pruneStatement,
  foreignClaimsStatement,
  recoverStatement,
} from '../../../lib/stores/typeorm/dialects/postgres-statements.js';
import { pendingTypesStatement as postgresPendingTypes } from '../../../lib/stores/typeorm/dialects/postgres-streams.js';
import { SqliteStatements } from '../../../lib/stores/typeorm/dialects/sqlite-statements.js';
import type { SqliteHandle } from '../../../lib/stores/typeorm/dialects/sqlite-handle.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { forEachDatabase, type TestDatabase } from '../../support/databases.js';
import { claim, StoreRig } from '../../support/store-rig.js';

const ofEach = 50_000;
const others = 4 * ofEach;
const claimOfTwo = { types: ['mine', 'other'], limit: 10, owner: 'ada', leaseMs: 1_000, room: 16_777_216 };
const streams = ['mine', 'other'].map((type) => ({ type, queue: 'default', priority: 0 }));
const names = { table: 'rws_jobs', slots: 'rws_jobs_slots' };
const pruning = { state: 'failed', endedForMs: 1_000, limit: 10 } as const;
const recovery = { owner: 'ada', maxInterruptions: 3, backoffMs: 0, limit: 10 };

/** What no plan may say: that the whole table is read, or sorted. One of our own indexes over few rows may be walked through. */
const walks =
  /seq scan|SCAN rws_jobs(?! USING (COVERING )?INDEX rws_jobs_(pending|running|finished))|ALL rws_jobs|filesort of/i;

/** A crowd around the few jobs that are due here: jobs of another type in front of them, some for the far future, failed and completed ones that stay for ever. */
async function crowd(dataSource: DataSource, database: TestDatabase): Promise<void> {
  const id = {
    postgres: 'gen_random_uuid()',
    mysql: 'UUID()',
    sqlite: 'lower(hex(randomblob(18)))',
  }[database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql')];
  const numbers = {
    postgres: `generate_series(1, ${others}) AS n(n)`,
    mysql: `seq_1_to_${others} AS s(n)`,
    sqlite: `n`,
  }[database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql')];
  const rows = `SELECT ${id}, CASE n % 4 WHEN 0 THEN 'foreign' ELSE 'mine' END, 'null',
      CASE n % 4 WHEN 1 THEN 'failed' WHEN 3 THEN 'completed' ELSE 'pending' END, 3,
      CASE n % 4 WHEN 2 THEN 9000000000000 ELSE n END, 1,
      CASE n % 4 WHEN 1 THEN 9000000000000 WHEN 3 THEN n END, CASE n % 4 WHEN 3 THEN 5000000000000000 END
    FROM ${numbers}`;
  const columns = '(id, job_type, payload, status, max_retries, next_run_at, created_at, finished_at, keep_until)';
  const recursion = database.isSqlite
    ? `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${others}) `
    : '';
  const source = database.name === 'mysql' ? rows.replace(/ AS s\(n\)/, '').replaceAll(/\bn\b/g, 'seq') : rows;
  await dataSource.query(`INSERT INTO rws_jobs ${columns} ${recursion}${source}`);
}

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  afterEach(() => rig.clear());

  it('a claim finds its few jobs among 200 000 others, and reads hardly more than those', async () => {
    const store = await rig.open();
    const dataSource = await rig.dataSource();
    await crowd(dataSource, database);
    const mine = someJobs(9, { type: 'mine' });
    const lesser = aJob({ type: 'mine', priority: 1 });
    await store.insert([...mine, lesser, aJob({ type: 'other', delayMs: 60_000 })]);

    const plan = await planOf(dataSource, database);

    expect(plan.join('\n')).toMatch(/rws_jobs_pending|index for group-by/);
    expect(plan.filter((line) => /rws_jobs_(finished|kept)/.test(line)).length).toBeGreaterThanOrEqual(2);
    expect(plan.filter((line) => walks.test(line))).toEqual([]);
    expect(await streamPlanOf(dataSource, database)).toEqual(stepping[database.isSqlite ? 'sqlite' : database.name]);
    expect(await store.prune(pruning)).toBe(0);
    const found = await claim(store, { types: ['mine', 'other'] });
    expect(found.map(({ id }) => id)).toEqual([...mine, lesser].map(({ id }) => id));
  }, 120_000);
});

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.clear());

    it('the step to the next stream reads a few entries, also of a table that was just filled and of which nothing is known yet', async () => {
      await rig.open();
      const dataSource = await rig.dataSource();
      await crowd(dataSource, database);
      const marks = [{ type: 'mine', queue: 'default', priority: 0 }];
      const { text, values } = nextStreamsStatement(sqlNames({ schema: undefined, table: 'rws_jobs' }, '`'), marks);

      const runner = dataSource.createQueryRunner();
      await runner.query('FLUSH STATUS');
      await runner.query(text, [...values]);
      const rows: readonly Record<string, string>[] = await runner.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
      await runner.release();

      const reads = rows.map(({ Value }) => Number(Value));
      expect(Math.max(...reads)).toBeLessThan(20);
    }, 120_000);
  },
  ['mysql'],
);

/** How the next stream is found behind one with 50 000 jobs: by steps in the index that name all of what is known of it. */
const stepping: Readonly<Record<string, unknown>> = {
  postgres: undefined,
  mysql: [expect.stringContaining('Using index for group-by')],
  sqlite: [
    expect.stringMatching(/job_type=\? AND queue=\? AND priority>\?/),
    expect.stringMatching(/job_type=\? AND queue>\?/),
  ],
};

/** PostgreSQL finds the start of a comparison of pairs in its index. */
async function streamPlanOf(dataSource: DataSource, database: TestDatabase): Promise<readonly string[] | undefined> {
  if (database.isSqlite) {
    const details = await sqlitePlan(dataSource, (statements) =>
      statements.get('nextStream').all('foreign', 'default', 0, 'foreign', 'default'),
    );
    return details.filter((line) => line.startsWith('SEARCH'));
  }
  if (database.name !== 'mysql') return undefined;
  const { text, values } = streamsStatement(names, ['foreign']);
  const rows: readonly Record<string, unknown>[] = await dataSource.query(`EXPLAIN ${text}`, [...values]);
  return rows.filter((row) => row['table'] === 'rws_jobs').map(({ Extra }) => String(Extra));
}

/** What the database says it would do for a claim and for the list of pending types, one step a line. */
async function planOf(dataSource: DataSource, database: TestDatabase): Promise<readonly string[]> {
  if (database.name === 'postgres') return postgresPlan(dataSource);
  return database.name === 'mysql' ? mysqlPlan(dataSource) : sqlitePlan(dataSource);
}

async function postgresPlan(dataSource: DataSource): Promise<readonly string[]> {
  await dataSource.query('ANALYZE rws_jobs');
  const lines: string[] = [];
  const claims = [claimOfTwo, { ...claimOfTwo, types: ['mine'] }, { ...claimOfTwo, types: undefined }];
  const statements = [
    ...claims.map((request) => exchangeStatement(names, { settle: [], claim: request })),
    postgresPendingTypes('rws_jobs'),
    recoverStatement('rws_jobs', recovery),
    foreignClaimsStatement('rws_jobs', 'ada'),
    disownStatement('rws_jobs', 'ada', []),
    pruneStatement('rws_jobs', pruning),
  ];
  for (const { text, values } of statements) {
    const rows: readonly Record<string, string>[] = await dataSource.query(`EXPLAIN ${text}`, [...values]);
    lines.push(...rows.map((row) => row['QUERY PLAN'] ?? ''));
  }
  return lines;
}

async function mysqlPlan(dataSource: DataSource): Promise<readonly string[]> {
  await dataSource.query('ANALYZE TABLE rws_jobs');
  const lines: string[] = [];
  const claims = [
    candidatesStatement('rws_jobs', { streams, limit: 10 }),
    streamsStatement(names, ['mine', 'other']),
    streamsStatement(names, undefined),
    nextStreamsStatement(sqlNames({ schema: undefined, table: 'rws_jobs' }, '`'), streams),
    mysqlPendingTypes('rws_jobs'),
    ...prunableStatements('rws_jobs', pruning),
  ];
  for (const statement of [...claims, expiredStatement('rws_jobs', recovery)]) {
    const rows: readonly Record<string, unknown>[] = await dataSource.query(`EXPLAIN ${statement.text}`, [
      ...statement.values,
    ]);
    for (const { table, type, key, Extra } of rows.filter((row) => row['table'] === 'rws_jobs')) {
      // The running rows, which are few, may be sorted.
      const isSorted = claims.includes(statement) && String(Extra).includes('filesort');
      lines.push(`${String(type)} ${String(table)} ${String(key)} ${isSorted ? 'filesort of it' : String(Extra)}`);
    }
  }
  return lines;
}

async function sqlitePlan(
  dataSource: DataSource,
  ask: (statements: SqliteStatements) => readonly Row[] = askAll,
): Promise<readonly string[]> {
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
  return ask(statements).map((row) => String(row['detail']));
}

function askAll(statements: SqliteStatements): readonly Row[] {
  return [
    ...statements.get('due').all('mine', 'default', 0, Date.now(), 9, 10),
    ...statements.get('firstStream').all('mine'),
    ...statements.get('nextStream').all('mine', 'default', 0, 'mine', 'default'),
    ...statements.get('pendingTypes').all(),
    ...statements.get('expired').all('ada', Date.now(), '[]', 10),
    ...statements.get('pruneKept').all('failed', Date.now(), 10),
    ...statements.get('pruneEnded').all('failed', Date.now(), 10),
  ];
}
