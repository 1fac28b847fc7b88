import type { JobState } from '../../../model/job-state.js';
import type { Row } from '../job-row.js';

/** What a bound value is taken for. */
export type ValueType = 'uuid' | 'text' | 'integer' | 'bigint';

/** A text in the making: what is bound here stands in its place as a mark. */
export interface SqlText {
  /** The job table, quoted. */
  readonly table: string;
  /** Binds a value; returns its mark. To be called in the order in which the marks stand in the text. */
  bind(value: string | number | null, type: ValueType): string;
  /** An expression for epoch milliseconds, by the clock that judges what is due. */
  now(): string;
}

/** Makes a text, and binds what it needs. */
export type TextMaker<P = void> = (sql: SqlText, parameter: P) => string;

/** One guarded change of some rows. */
export interface RowChange {
  readonly ids: readonly string[];
  /** Rows in other states are left alone. */
  readonly from: readonly JobState[];
  /** Makes `column = value, …`; without it the rows are deleted. */
  readonly set: TextMaker | undefined;
}

/**
 * How the statements of admins reach one database. They are the same everywhere but for what stands here: none of them is on the way
 * of a job, so none is tuned for one server.
 */
export interface AdminSql {
  /** Runs one reading statement. */
  read(make: TextMaker): Promise<readonly Row[]>;
  /** Runs the same statement for each of these types, as few trips as there may be. The rows of all come together. */
  readEach(types: readonly string[], make: TextMaker<string>): Promise<readonly Row[]>;
  /**
   * Locks the rows and changes them, at once or not at all; says again what the database refused for a passing reason.
   * Answers with `id`, `status` and `claim_token` of each row that was changed, as they were before.
   */
  change(change: RowChange): Promise<readonly Row[]>;
  /** A condition for rows in this state, in the words of the index that they are found by. */
  whereState(state: JobState): string;
  /** Reads each type that rows in this state have: one step in an index for each type, instead of one for each row. */
  typesIn(state: JobState): TextMaker;
  /** Tells workers of other processes that jobs have become due. A hint only. */
  announce(): Promise<void>;
  /** @throws PayloadTooLargeError when this server does not take a payload of this size. */
  checkPayload(payload: string): void;
}

/** Values of the databases that mark them all alike. */
export class MarkedText implements SqlText {
  readonly values: (string | number | null)[] = [];

  constructor(
    readonly table: string,
    private readonly nowMs: string | number,
  ) {}

  bind(value: string | number | null): string {
    this.values.push(value);
    return '?';
  }

  now(): string {
    return typeof this.nowMs === 'number' ? this.bind(this.nowMs) : this.nowMs;
  }
}

/** Steps through an index from type to type. For databases that cannot do so by themselves. */
export function steppedTypes(condition: string): TextMaker {
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

/** What a change leaves alone. */
export function guardOf(sql: SqlText, { ids, from }: RowChange): string {
  const marks = ids.map((id) => sql.bind(id, 'uuid')).join(', ');
  const states = from.map((state) => sql.bind(state, 'text')).join(', ');
  return `id IN (${marks}) AND status IN (${states})`;
}
