import type { QueryRunner } from 'typeorm';
import { enqueueResult, type EnqueueResult } from '../../../model/enqueue-result.js';
import { isConditional, type NewJob } from '../../../model/job.js';
import {
  noAnswer,
  plainMembers,
  runEach,
  type BatchSql,
  type BatchWords,
  type Script,
  type Step,
  type StepAnswer,
} from '../batches/batch-sql.js';
import type { TableNames } from '../admin/sql-text.js';
import { PgText } from './postgres-admin.js';
import type { PgQueryable } from './postgres-pool.js';

/** How jobs are stored on one connection. */
export interface PgStoring {
  insert(client: PgQueryable, jobs: readonly NewJob[]): Promise<void>;
  admit(client: PgQueryable, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]>;
}

export interface PostgresBatchesParts {
  readonly names: () => TableNames;
  /** Runs a transaction of ours, again where it was refused for a passing reason. */
  readonly transaction: <T>(lane: 'plain' | 'conditional', run: (client: PgQueryable) => Promise<T>) => Promise<T>;
  readonly clientOf: (runner: QueryRunner) => Promise<PgQueryable>;
  /** In transactions of ours, and in those of others. */
  readonly own: PgStoring;
  readonly within: PgStoring;
}

export const postgresBatchWords: BatchWords = {
  members: plainMembers,
  // This planner would walk through the table, thinking that it meets one soon, unless it is asked for the one that comes first in the index.
  hasMember: (sql, id, state) =>
    `(SELECT 1 FROM ${sql.table} AS j WHERE ${plainMembers(sql, id, state)} ORDER BY j.id LIMIT 1) IS NOT NULL`,
  byId: (table) => table,
  forUpdate: 'FOR UPDATE',
};

export class PostgresBatches implements BatchSql {
  readonly words = postgresBatchWords;

  constructor(private readonly parts: PostgresBatchesParts) {}

  transaction<T>(lane: 'plain' | 'conditional', make: () => Script<T>): Promise<T> {
    const { transaction, own } = this.parts;
    return transaction(lane, (client) => runEach(make(), (step) => this.answer(client, step, own)));
  }

  /** Whatever fails here fails the transaction, so that nothing of it can be committed. */
  async within<T>(runner: QueryRunner, make: () => Script<T>): Promise<T> {
    const client = await this.parts.clientOf(runner);
    return runEach(make(), (step) => this.answer(client, step, this.parts.within));
  }

  private async answer(client: PgQueryable, step: Step, storing: PgStoring): Promise<StepAnswer> {
    if ('store' in step) return { rows: [], results: await store(client, step.store, storing) };
    const sql = new PgText(this.parts.names());
    const text = 'read' in step ? step.read(sql) : step.write(sql);
    const { rows } = await client.query(text, sql.list);
    return { ...noAnswer, rows };
  }
}

async function store(
  client: PgQueryable,
  jobs: readonly NewJob[],
  storing: PgStoring,
): Promise<readonly EnqueueResult[]> {
  if (jobs.some(isConditional)) return storing.admit(client, jobs);
  await storing.insert(client, jobs);
  return jobs.map(({ id }) => enqueueResult(id, 'stored'));
}
