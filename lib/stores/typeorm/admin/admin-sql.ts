import type { JobState } from '../../../model/job-state.js';
import type { Row } from '../job-row.js';
import type { AdminWords } from './admin-words.js';
import type { SqlText, TextMaker } from './sql-text.js';

/** One guarded change of some rows. */
export interface RowChange {
  readonly ids: readonly string[];
  /** Rows in other states are left alone. */
  readonly from: readonly JobState[];
  /** What rows it leaves alone besides; nothing by default. */
  readonly sparing?: string;
  /** Makes `column = value, …`; without it the rows are deleted. */
  readonly set: TextMaker | undefined;
}

/**
 * How the statements of admins reach one database. They are the same everywhere but for what stands here: none of them is on the way
 * of a job, so none is tuned for one server.
 */
export interface AdminSql {
  readonly words: AdminWords;
  /** Runs one reading statement. */
  read(make: TextMaker): Promise<readonly Row[]>;
  /** Runs one writing statement that may be said again. Answers with the number of rows. */
  write(make: TextMaker): Promise<number>;
  /** Runs the same statement for each of these, as few trips as there may be. The rows of all come together. */
  readEach<P>(each: readonly P[], make: TextMaker<P>): Promise<readonly Row[]>;
  /**
   * Locks the rows and changes them, at once or not at all; says again what the database refused for a passing reason.
   * Answers with `id`, `status`, `claim_token` and, as `member_of`, the batch of each row that was changed, as they were before.
   */
  change(change: RowChange): Promise<readonly Row[]>;
  /** Whether a change was refused because another job holds a unique key. */
  isKeyTaken(error: unknown): boolean;
  /** Tells workers of other processes that jobs have become due. A hint only. */
  announce(): Promise<void>;
  /** @throws PayloadTooLargeError when this server does not take a payload of this size. */
  checkPayload(payload: string): void;
}

/** What a change leaves alone. */
export function guardOf(sql: SqlText, { ids, from, sparing }: RowChange): string {
  const marks = ids.map((id) => sql.bind(id, 'uuid')).join(', ');
  const states = from.map((state) => sql.bind(state, 'text')).join(', ');
  return `id IN (${marks}) AND status IN (${states})${sparing === undefined ? '' : ` AND NOT (${sparing})`}`;
}
