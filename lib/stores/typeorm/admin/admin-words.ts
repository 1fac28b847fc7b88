import { endedStates, type JobState } from '../../../model/job-state.js';
import type { TextMaker } from './sql-text.js';

/** Words that lead a server to the index that it should take. */
export interface AdminWords {
  /** A condition for rows in this state, in the words of the index that they are found by. */
  whereState(state: JobState): string;
  /**
   * The order in which rows of one state and one type lie in an index. Whoever wants a few of them, whichever, asks for those that come first
   * there: otherwise a server may look for them in the table itself, and so through all of it.
   */
  indexOrder(state: JobState): string;
  /** A column by which rows are to be sorted after they were found, and not found as they are sorted. */
  sortedLater(column: string): string;
  /** Reads each type that rows in this state have: one step in an index for each type, instead of one for each row. */
  typesIn(state: JobState): TextMaker;
}

/** For databases with indexes over some of the rows. A statement must name their condition, or they are not used. */
const partialIndexes: Omit<AdminWords, 'sortedLater'> = {
  whereState: (state) => `status = '${state}'${isEnded(state) ? ' AND finished_at IS NOT NULL' : ''}`,
  indexOrder: (state) => (isEnded(state) ? 'finished_at, id' : 'queue, priority, next_run_at, id'),
  typesIn: (state) => steppedTypes(partialIndexes.whereState(state)),
};

export const postgresWords: AdminWords = { ...partialIndexes, sortedLater: (column) => column };

/** This planner takes the order for the more important thing, unless what is sorted by is no column any more. */
export const sqliteWords: AdminWords = { ...partialIndexes, sortedLater: (column) => `+${column}` };

export const mysqlWords: AdminWords = {
  whereState: (state) => `status = '${state}'`,
  indexOrder: () => 'queue, priority, next_run_at, id',
  sortedLater: (column) => column,
  /** The server steps through the index from type to type by itself. */
  typesIn:
    (state) =>
    ({ table }) =>
      `SELECT DISTINCT job_type FROM ${table} WHERE ${mysqlWords.whereState(state)}`,
};

function isEnded(state: JobState): boolean {
  return endedStates.some((ended) => ended === state);
}

function steppedTypes(condition: string): TextMaker {
  return ({ table }) => `
    WITH RECURSIVE types (job_type) AS (
      SELECT min(job_type) FROM ${table} WHERE ${condition}
      UNION ALL
      SELECT (SELECT min(job_type) FROM ${table} WHERE ${condition} AND job_type > types.job_type)
      FROM types
      WHERE types.job_type IS NOT NULL
    )
    SELECT job_type FROM types WHERE job_type IS NOT NULL`;
}
