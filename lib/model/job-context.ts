/** A logger that carries the job's type and id. */
export interface JobLogger {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** What a handler receives about the attempt that it runs. With request-scoped handlers it is also what `REQUEST` injects. */
export interface JobContext {
  readonly id: string;
  readonly type: string;
  /** 1 in the first attempt. */
  readonly attempt: number;
  /** Retries allowed after the first attempt: at most `maxRetries + 1` attempts. */
  readonly maxRetries: number;
  /** What `enqueue` was given as `tags`. */
  readonly tags: readonly string[];
  /**
   * Aborted when the attempt should end before its time; `signal.reason` is a `JobAbortedError` whose `reason` says why:
   * `timeout`, `lease lost`, `shutdown` or `cancelled`.
   */
  readonly signal: AbortSignal;
  readonly logger: JobLogger;
  /**
   * Says how far the work has come. It is stored with the job, the latest at most once a second; nothing is waited for. See `JobRecord.progress`.
   *
   * @param fraction From 0 to 1.
   * @param note A few words; no more than 500 characters are kept.
   * @throws InvalidOptionError
   */
  progress(fraction: number, note?: string): void;
  /**
   * Puts a line into the log of the job, which is stored with it and goes on over all attempts. The last 500 lines, or 32 000 characters, are
   * kept; a line has no more than 1 000. See `JobRecord.log`. Jobs in memory have no such log.
   *
   * @throws InvalidOptionError unless it is a text.
   */
  log(line: string): void;
}
