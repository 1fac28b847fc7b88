import type { QueryRunner } from 'typeorm';
import { enqueueResult, type EnqueueResult } from '../../../model/enqueue-result.js';
import { isConditional, type NewJob } from '../../../model/job.js';
import { MarkedText, type TableNames, type TextMaker } from '../admin/sql-text.js';
import {
  existing,
  noAnswer,
  plainMembers,
  runNow,
  type BatchSql,
  type BatchWords,
  type Script,
  type Step,
  type StepAnswer,
} from '../batches/batch-sql.js';
import type { SqliteGate } from './sqlite-gate.js';
import { allOrNone, inSqliteTransaction, type SqliteHandle } from './sqlite-handle.js';
import type { SqliteJobs } from './sqlite-jobs.js';

export interface SqliteBatchesParts {
  readonly names: TableNames;
  readonly gate: SqliteGate;
  readonly jobs: (handle: SqliteHandle) => SqliteJobs;
  /** The connection of the caller's transaction. */
  readonly handleWithin: () => SqliteHandle;
  readonly now: () => number;
}

/** A transaction keeps everybody else out, so nothing needs a lock of its own. */
export const sqliteBatchWords: BatchWords = {
  members: plainMembers,
  hasMember: existing(plainMembers),
  byId: (table) => table,
  forUpdate: '',
};

/** All of a script in one synchronous block. */
export class SqliteBatches implements BatchSql {
  readonly words = sqliteBatchWords;

  constructor(private readonly parts: SqliteBatchesParts) {}

  transaction<T>(_lane: unknown, make: () => Script<T>): Promise<T> {
    return this.parts.gate.run((handle) => inSqliteTransaction(handle, () => this.run(handle, make())));
  }

  async within<T>(_runner: QueryRunner, make: () => Script<T>): Promise<T> {
    const handle = this.parts.handleWithin();
    return allOrNone(handle, () => this.run(handle, make()));
  }

  private run<T>(handle: SqliteHandle, script: Script<T>): T {
    const now = this.parts.now();
    return runNow(script, (step) => this.answer(handle, step, now));
  }

  private answer(handle: SqliteHandle, step: Step, now: number): StepAnswer {
    if ('store' in step) return { rows: [], results: storeIn(this.parts.jobs(handle), step.store, now) };
    if ('read' in step)
      return { ...noAnswer, rows: this.say(step.read, now, (text, values) => handle.prepare(text).all(...values)) };
    this.say(step.write, now, (text, values) => handle.prepare(text).run(...values));
    return noAnswer;
  }

  private say<T>(make: TextMaker, now: number, run: (text: string, values: MarkedText['values']) => T): T {
    const sql = new MarkedText(this.parts.names, now);
    return run(make(sql), sql.values);
  }
}

function storeIn(own: SqliteJobs, jobs: readonly NewJob[], now: number): readonly EnqueueResult[] {
  if (jobs.some(isConditional)) return own.admit(jobs, now);
  own.insert(jobs, now);
  return jobs.map(({ id }) => enqueueResult(id, 'stored'));
}
