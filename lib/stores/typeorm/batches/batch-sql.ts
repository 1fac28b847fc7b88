import type { QueryRunner } from 'typeorm';
import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { JobState } from '../../../model/job-state.js';
import type { NewJob } from '../../../model/job.js';
import type { SqlText, TextMaker } from '../admin/sql-text.js';
import type { Row } from '../job-row.js';

/** One thing to do in a transaction. */
export type Step = { readonly read: TextMaker } | { readonly write: TextMaker } | { readonly store: readonly NewJob[] };

/** What came of it; empty where it has nothing to answer. */
export interface StepAnswer {
  readonly rows: readonly Row[];
  readonly results: readonly EnqueueResult[];
}

/**
 * What happens in one transaction, step by step. It is written once and run by each database in its own way: over a network each step is waited for, in
 * SQLite all of it is one synchronous block.
 */
export type Script<T> = Generator<Step, T, StepAnswer>;

/** The words in which databases differ. */
export interface BatchWords {
  /** A condition for jobs `j` that are members of a batch, in one state: of this one, or of that in a row `b`. */
  readonly members: (sql: SqlText, id: string | undefined, state: JobState) => string;
  /** A condition: whether there is one of those. Two looks in an index, however many there are. */
  readonly hasMember: (sql: SqlText, id: string | undefined, state: JobState) => string;
  /** A table whose rows are found by their ids. */
  readonly byId: (table: string) => string;
  /** What makes a reading statement lock the rows that it finds, at its end. */
  readonly forUpdate: string;
}

/** How scripts reach one database. */
export interface BatchSql {
  readonly words: BatchWords;
  /**
   * All of a script or nothing, in a transaction of its own; made again where the database refused it for a passing reason.
   *
   * @param lane What it shares its way with, so that nobody else is kept waiting for long: plain jobs, or jobs with a condition, for which it may have
   *   to wait.
   */
  transaction<T>(lane: 'plain' | 'conditional', make: () => Script<T>): Promise<T>;
  /** All of a script or nothing, in the transaction that is open on the caller's runner. */
  within<T>(runner: QueryRunner, make: () => Script<T>): Promise<T>;
}

export const noAnswer: StepAnswer = { rows: [], results: [] };

export function runNow<T>(script: Script<T>, answer: (step: Step) => StepAnswer): T {
  for (let turn = script.next(); ; turn = script.next(answer(turn.value))) {
    if (turn.done === true) return turn.value;
  }
}

export async function runEach<T>(script: Script<T>, answer: (step: Step) => Promise<StepAnswer>): Promise<T> {
  for (let turn = script.next(); ; turn = script.next(await answer(turn.value))) {
    if (turn.done === true) return turn.value;
  }
}

/** The condition where members lie in an index by the batch and their state. */
export const plainMembers: BatchWords['members'] = (sql, id, state) =>
  `j.batch_id = ${id === undefined ? 'b.id' : sql.bind(id, 'uuid')} AND j.status = '${state}'`;

export function existing(members: BatchWords['members']): BatchWords['hasMember'] {
  return (sql, id, state) => `EXISTS (SELECT 1 FROM ${sql.table} AS j WHERE ${members(sql, id, state)})`;
}
