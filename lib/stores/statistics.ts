/** What became of the jobs of one type in one minute in one process. */
export interface StatisticsRow {
  readonly type: string;
  /** Epoch milliseconds at which the minute began, by the store's clock. */
  readonly minute: number;
  /** The process, as it stands in `claimed_by`. */
  readonly owner: string;
  readonly completed: number;
  /** Ended as failed, too late ones among them. */
  readonly failed: number;
  /** Attempts that failed and are tried again. */
  readonly retried: number;
  /** Milliseconds from the moment at which each was due to its start, as `Histogram` writes it. */
  readonly waits: string;
  /** Milliseconds that each attempt took, as `Histogram` writes it. */
  readonly runs: string;
}

/** The seam for statistics: each process adds its own rows once a minute, nobody changes those of others. */
export interface Statistics {
  /** Whether it takes a minute in parts, as it goes by. Default: only once it is over, whole. */
  readonly takesParts?: boolean;
  /** Adds rows; one that is there already, since it was not known whether it was stored, is left alone. */
  record(rows: readonly StatisticsRow[]): Promise<void>;
  /** Those of all processes whose minute began at this moment or later. */
  read(fromMinute: number): Promise<readonly StatisticsRow[]>;
  /** Deletes those whose minute began before this moment. */
  prune(beforeMinute: number): Promise<void>;
  /** Epoch milliseconds by the store's clock. */
  now(): Promise<number>;
}
