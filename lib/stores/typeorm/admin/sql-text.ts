/** What a bound value is taken for. */
export type ValueType = 'uuid' | 'text' | 'integer' | 'bigint';

/** The tables that a claim looks at, quoted. */
export interface ClaimTables {
  readonly table: string;
  readonly slots: string;
}

/** The tables of one store, quoted. */
export interface TableNames extends ClaimTables {
  readonly statistics: string;
  readonly batches: string;
  readonly schedules: string;
}

/** A text in the making: what is bound here stands in its place as a mark. */
export interface SqlText {
  /** The job table, quoted. */
  readonly table: string;
  /** The table of slots, quoted. */
  readonly slots: string;
  /** The table of statistics, quoted. */
  readonly statistics: string;
  /** The table of batches, quoted. */
  readonly batches: string;
  /** The table of schedules, quoted. */
  readonly schedules: string;
  /** Binds a value; returns its mark. To be called in the order in which the marks stand in the text. */
  bind(value: string | number | null, type: ValueType): string;
  /** An expression for epoch milliseconds, by the clock that judges what is due. */
  now(): string;
}

/** Makes a text, and binds what it needs. */
export type TextMaker<P = void> = (sql: SqlText, parameter: P) => string;

/** Values of the databases that mark them all alike. */
export class MarkedText implements SqlText {
  readonly values: (string | number | null)[] = [];

  readonly table: string;
  readonly slots: string;
  readonly statistics: string;
  readonly batches: string;
  readonly schedules: string;

  constructor(
    { table, slots, statistics, batches, schedules }: TableNames,
    private readonly nowMs: string | number,
  ) {
    this.table = table;
    this.slots = slots;
    this.statistics = statistics;
    this.batches = batches;
    this.schedules = schedules;
  }

  bind(value: string | number | null): string {
    this.values.push(value);
    return '?';
  }

  now(): string {
    return typeof this.nowMs === 'number' ? this.bind(this.nowMs) : this.nowMs;
  }
}
