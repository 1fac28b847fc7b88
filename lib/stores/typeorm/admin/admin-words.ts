import { endedStates, JobState } from '../../../model/job-state.js';
import type { StatisticsRow } from '../../statistics.js';
import { takePauseStatement } from './pause-statements.js';
import type { SqlText, TextMaker } from './sql-text.js';
import { recordStatement } from './statistics-statements.js';

/** Words that lead a server to the index that it should take. */
export interface AdminWords {
  /** A condition for rows in this state, in the words of the index that they are found by. */
  whereState(state: JobState): string;
  /**
   * The order in which rows of one state and one type lie in an index. Whoever wants a few of them, whichever, asks for those that come first
   * there: otherwise a server may look for them in the table itself, and so through all of it.
   */
  indexOrder(state: JobState, queue: string | undefined): string;
  /** A column by which rows are to be sorted after they were found, and not found as they are sorted. */
  sortedLater(column: string): string;
  /** A condition for members of a batch: in this state, or in any. */
  inBatch(sql: SqlText, id: string, state: JobState | undefined): string;
  /** A condition for a text that has another one somewhere in it, letter by letter. */
  contains(column: string, mark: string): string;
  /** Takes a slot of pauses, and leaves it alone where it is taken. */
  readonly takeSlot: TextMaker<string>;
  /** Adds rows of statistics, and leaves alone those that are there. */
  readonly recordStatistics: TextMaker<readonly StatisticsRow[]>;
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
const partialIndexes: Omit<AdminWords, 'sortedLater' | 'contains' | 'streams'> = {
  inBatch: (sql, id) => `batch_id = ${sql.bind(id, 'uuid')}`,
  takeSlot: takePauseStatement('ON CONFLICT (job_type, slot) DO NOTHING'),
  recordStatistics: recordStatement('ON CONFLICT (minute, job_type, owner) DO NOTHING'),
  asExisting: 'AS present',
  existing: (column) => `present.${column}`,
  incoming: (column) => `excluded.${column}`,
  onTaken: (key) => `ON CONFLICT (${key}) DO UPDATE SET`,
  changes: (assignments, mayChange) =>
    `${assignments.join(', ')}${mayChange === undefined ? '' : ` WHERE ${mayChange}`}`,
  whereState: (state) => `status = '${state}'${isEnded(state) ? ' AND finished_at IS NOT NULL' : ''}`,
  indexOrder: (state, queue) => (isEnded(state) ? 'finished_at, id' : pendingOrder(queue)),
  typesIn: (state) => steppedTypes(partialIndexes.whereState(state)),
};

export const postgresWords: AdminWords = {
  ...partialIndexes,
  sortedLater: (column) => column,
  contains: (column, mark) => `strpos(${column}, ${mark}) > 0`,
  streams: ({ table }) => `
    WITH RECURSIVE streams AS (
      ${nextStream(table, '')}
      UNION ALL
      SELECT n.* FROM streams AS s CROSS JOIN LATERAL ${nextStream(table, behindStream)} AS n
    )
    SELECT job_type, queue, priority FROM streams`,
};

/** Level by level: for a comparison of all three at once, SQLite would read all of the stream that is behind it. */
function nextRow(table: string, above: string): string {
  return `(
          SELECT j.rowid FROM ${table} AS j
          WHERE j.status = '${JobState.Pending}' AND ${above}
          ORDER BY j.job_type, j.queue, j.priority
          LIMIT 1
        )`;
}

/** This planner takes the order for the more important thing, unless what is sorted by is no column any more. */
export const sqliteWords: AdminWords = {
  ...partialIndexes,
  sortedLater: (column) => `+${column}`,
  contains: (column, mark) => `instr(${column}, ${mark}) > 0`,
  streams: ({ table }) => `
    WITH RECURSIVE streams (job_type, queue, priority) AS (
      SELECT * FROM ${nextStream(table, '')}
      UNION ALL
      SELECT n.job_type, n.queue, n.priority FROM streams AS s JOIN ${table} AS n ON n.rowid = COALESCE(
        ${nextRow(table, 'j.job_type = s.job_type AND j.queue = s.queue AND j.priority > s.priority')},
        ${nextRow(table, 'j.job_type = s.job_type AND j.queue > s.queue')},
        ${nextRow(table, 'j.job_type > s.job_type')}
      )
    )
    SELECT job_type, queue, priority FROM streams`,
};

export const mysqlWords: AdminWords = {
  inBatch: (sql, id, state) => {
    const states = state === undefined ? Object.values(JobState) : [state];
    return `batch_state IN (${states.map((each) => sql.bind(`${id}${each}`, 'text')).join(', ')})`;
  },
  takeSlot: takePauseStatement('ON DUPLICATE KEY UPDATE free_at = VALUES(free_at)'),
  recordStatistics: recordStatement('ON DUPLICATE KEY UPDATE completed = VALUES(completed)'),
  asExisting: '',
  existing: (column) => column,
  incoming: (column) => `VALUES(${column})`,
  onTaken: () => 'ON DUPLICATE KEY UPDATE',
  changes: (assignments, mayChange) => assignments.map((each) => onlyWhere(each, mayChange)).join(', '),
  streams: ({ table }) =>
    `SELECT job_type, queue, priority FROM ${table} WHERE status = '${JobState.Pending}'
    GROUP BY status, job_type, queue, priority`,
  whereState: (state) => `status = '${state}'`,
  indexOrder: (_state, queue) => pendingOrder(queue),
  sortedLater: (column) => column,
  contains: (column, mark) => `INSTR(${column}, ${mark}) > 0`,
  /** The server steps through the index from type to type by itself, if it groups by the first column too. */
  typesIn:
    (state) =>
    ({ table }) =>
      `SELECT job_type FROM ${table} WHERE ${mysqlWords.whereState(state)} GROUP BY status, job_type`,
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

/** Of one queue, naming it again would make a server sort. */
function pendingOrder(queue: string | undefined): string {
  return queue === undefined ? 'queue, priority, next_run_at, id' : 'priority, next_run_at, id';
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
