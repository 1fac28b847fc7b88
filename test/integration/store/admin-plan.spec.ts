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
import { someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { explainingSql } from '../../support/explaining-sql.js';
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
  ['the count of waiting jobs', (sql) => ofType(countStatement(sql.words, 'pending', { most: 1_000, group: {} }))],
  [
    'the count of waiting jobs in a queue',
    (sql) => ofType(countStatement(sql.words, 'pending', { most: 1_000, group: { queue: 'default' } })),
  ],
  ['the count of failed jobs', (sql) => ofType(countStatement(sql.words, 'failed', { most: 1_000, group: {} }))],
  ['the types of waiting jobs', (sql) => sql.words.typesIn('pending')],
  ['the types of failed jobs', (sql) => sql.words.typesIn('failed')],
  ['the oldest due job', (sql) => ofStream(oldestDueStatement(sql.words))],
  ['the streams of waiting jobs', (sql) => sql.words.streams],
];

const looksAtRunning: readonly (readonly [string, (sql: AdminSql) => TextMaker])[] = [
  ['running jobs', (sql) => ofNoType(listStatement(sql.words, page({ state: 'running' })))],
  ['the count of running jobs', (sql) => countRunningStatement(sql.words, {})],
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
    sql = explainingSql(database, dataSource);
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
