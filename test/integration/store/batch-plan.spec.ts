import { v7 as uuidv7 } from 'uuid';
import type { AdminSql } from '../../../lib/stores/typeorm/admin/admin-sql.js';
import type { TextMaker } from '../../../lib/stores/typeorm/admin/sql-text.js';
import {
  activeStatement,
  closeStatement,
  completedStatement,
  countCompletedStatement,
  findBatchStatement,
  idleStatement,
  oldBatchesStatement,
  pageStatement,
} from '../../../lib/stores/typeorm/batches/batch-statements.js';
import { postgresBatchWords } from '../../../lib/stores/typeorm/dialects/postgres-batches.js';
import { sqliteBatchWords } from '../../../lib/stores/typeorm/dialects/sqlite-batches.js';
import type { BatchWords } from '../../../lib/stores/typeorm/batches/batch-sql.js';
import { mysqlBatchWords } from '../../../lib/stores/typeorm/dialects/mysql-batches.js';
import { someJobs } from '../../support/a-job.js';
import { forEachDatabase, type DatabaseName } from '../../support/databases.js';
import { explainingSql } from '../../support/explaining-sql.js';
import { StoreRig } from '../../support/store-rig.js';

/** What no plan may say: of the jobs, and of the batches. */
const walks =
  /seq scan|SCAN (j|rws_jobs|rws_jobs_batches)(?! USING)|"table":"(j|b|rws_jobs|rws_jobs_batches)","type":"ALL"/i;
const counts = ['how many have completed', 'how far a batch is'];
const id = uuidv7();

function wordsOf(name: DatabaseName): BatchWords {
  if (name === 'mysql') return mysqlBatchWords;
  return name === 'postgres' ? postgresBatchWords : sqliteBatchWords;
}

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  const words = wordsOf(database.name);
  const { members } = words;
  let sql: AdminSql;

  const looks: readonly (readonly [string, TextMaker])[] = [
    ['whether a job is left', activeStatement(words, id)],
    ['which batches are idle', idleStatement(words, [id, uuidv7()])],
    ['the next open batches', pageStatement(words, id, 100)],
    ['how many have completed', countCompletedStatement(members, id)],
    ['the members to let go of', completedStatement(members, { id, after: uuidv7(), limit: 500 })],
    ['how far a batch is', findBatchStatement(members, id)],
    ['whether it can be closed', closeStatement(words, id)],
    ['batches of long ago', oldBatchesStatement(1_000, 500)],
  ];

  beforeAll(async () => {
    const store = await rig.open();
    const dataSource = await rig.dataSource();
    const plain = { onComplete: undefined, onFailure: undefined };
    await store.insert(someJobs(10_000));
    await store.batches.insert({ id, steps: [someJobs(10_000, { type: 'member' })], ...plain });
    await rig.set("status = 'completed', finished_at = created_at", "job_type = 'member' AND id < '" + uuidv7() + "'");
    await store.batches.insert({ id: uuidv7(), steps: [someJobs(2_000, { type: 'member' })], ...plain });
    for (let n = 0; n < 20; n += 1) await store.batches.insert({ id: uuidv7(), steps: [], ...plain });
    const closed = Array.from({ length: 1_000 }, () => `('${uuidv7()}', 'closed', 0, 0, 0, 0, 1000, 1000)`);
    await dataSource.query(
      'INSERT INTO rws_jobs_batches (id, state, step, stored, total, completed, created_at, finished_at) ' +
        `VALUES ${closed.join(', ')}`,
    );
    for (const table of ['rws_jobs', 'rws_jobs_batches'])
      await dataSource.query(`ANALYZE ${database.name === 'mysql' ? 'TABLE ' : ''}${table}`);
    sql = explainingSql(database, dataSource);
  }, 120_000);

  afterAll(() => rig.clear());

  it.each(looks)('finds by an index, without a walk through a table: %s', async (what, look) => {
    const plan = (await sql.read(look)).map((row) => JSON.stringify(row));

    // What is half of the table may as well be counted by walking through it.
    if (database.name === 'postgres' && counts.includes(what)) return;
    expect(plan.join('\n')).toMatch(/rws_jobs_batch|pkey|PRIMARY|autoindex/);
    expect(plan.filter((line) => walks.test(line))).toEqual([]);
  });
});
