import { endedStates, JobState } from '../../../model/job-state.js';
import { takePauseStatement } from './pause-statements.js';
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
  /** Takes a slot of pauses, and leaves it alone where it is taken. */
  readonly takeSlot: TextMaker<string>;
  /** Stands behind the table of an INSERT, so that `existing` means its row. */
  readonly asExisting: string;
  /** The value that a column has in the row that is there. */
  readonly existing: (column: string) => string;
  /** The value that it was to have in the row that could not be inserted. */
  readonly incoming: (column: string) => string;
  /** What an INSERT does where a row with this key is there. */
  onTaken(key: string): string;
  /** The changes, made in this order; `mayChange` is a condition on the row that is there. */
  changes(assignments: readonly string[], mayChange: string | undefined): string;
  /** Reads each stream of jobs that wait, due or not: one step in the index for each. */
  readonly streams: TextMaker;
  /** Reads each type that rows in this state have: one step in an index for each type, instead of one for each row. */
  typesIn(state: JobState): TextMaker;
}

/** For databases with indexes over some of the rows. A statement must name their condition, or they are not used. */
const partialIndexes: Omit<AdminWords, 'sortedLater' | 'streams'> = {
  takeSlot: takePauseStatement('ON CONFLICT (job_type, slot) DO NOTHING'),
  asExisting: 'AS present',
  existing: (column) => `present.${column}`,
  incoming: (column) => `excluded.${column}`,
  onTaken: (key) => `ON CONFLICT (${key}) DO UPDATE SET`,
  changes: (assignments, mayChange) =>
    `${assignments.join(', ')}${mayChange === undefined ? '' : ` WHERE ${mayChange}`}`,
  whereState: (state) => `status = '${state}'${isEnded(state) ? ' AND finished_at IS NOT NULL' : ''}`,
  indexOrder: (state) => (isEnded(state) ? 'finished_at, id' : 'queue, priority, next_run_at, id'),
  typesIn: (state) => steppedTypes(partialIndexes.whereState(state)),
};

export const postgresWords: AdminWords = {
  ...partialIndexes,
  sortedLater: (column) => column,
  streams: ({ table }) => `
    WITH RECURSIVE streams AS (
      ${nextStream(table, '')}
      UNION ALL
      SELECT n.* FROM streams AS s CROSS JOIN LATERAL ${nextStream(table, behindStream)} AS n
    )
    SELECT job_type, queue, priority FROM streams`,
};

/** This planner takes the order for the more important thing, unless what is sorted by is no column any more. */
export const sqliteWords: AdminWords = {
  ...partialIndexes,
  sortedLater: (column) => `+${column}`,
  streams: ({ table }) => `
    WITH RECURSIVE streams (job_type, queue, priority) AS (
      SELECT * FROM ${nextStream(table, '')}
      UNION ALL
      SELECT n.job_type, n.queue, n.priority FROM streams AS s JOIN ${table} AS n ON n.rowid = (
        SELECT j.rowid FROM ${table} AS j
        WHERE j.status = '${JobState.Pending}'${behindStream}
        ORDER BY j.job_type, j.queue, j.priority
        LIMIT 1
      )
    )
    SELECT job_type, queue, priority FROM streams`,
};

export const mysqlWords: AdminWords = {
  takeSlot: takePauseStatement('ON DUPLICATE KEY UPDATE free_at = VALUES(free_at)'),
  asExisting: '',
  existing: (column) => column,
  incoming: (column) => `VALUES(${column})`,
  onTaken: () => 'ON DUPLICATE KEY UPDATE',
  changes: (assignments, mayChange) => assignments.map((each) => onlyWhere(each, mayChange)).join(', '),
  streams: ({ table }) =>
    `SELECT DISTINCT job_type, queue, priority FROM ${table} WHERE status = '${JobState.Pending}'`,
  whereState: (state) => `status = '${state}'`,
  indexOrder: () => 'queue, priority, next_run_at, id',
  sortedLater: (column) => column,
  /** The server steps through the index from type to type by itself. */
  typesIn:
    (state) =>
    ({ table }) =>
      `SELECT DISTINCT job_type FROM ${table} WHERE ${mysqlWords.whereState(state)}`,
};

/** There is no condition for all of them, so each has it. None of them changes what it reads. */
function onlyWhere(assignment: string, condition: string | undefined): string {
  if (condition === undefined) return assignment;
  const [column = '', ...value] = assignment.split(' = ');
  return `${column} = CASE WHEN ${condition} THEN ${value.join(' = ')} ELSE ${column} END`;
}

const behindStream = ' AND (j.job_type, j.queue, j.priority) > (s.job_type, s.queue, s.priority)';

function nextStream(table: string, above: string): string {
  return `(
        SELECT j.job_type, j.queue, j.priority FROM ${table} AS j
        WHERE j.status = '${JobState.Pending}'${above}
        ORDER BY j.job_type, j.queue, j.priority
        LIMIT 1
      )`;
}

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
