import type { JobBatch } from './batch.js';

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
  /** The batch or chain that this job follows, as its `onComplete` or `onFailure`; undefined for every other job. */
  readonly batch: JobBatch | undefined;
  /**
   * Aborted when the attempt should end before its time; `signal.reason` is a `JobAbortedError` whose `reason` says why:
   * `timeout`, `lease lost`, `shutdown` or `cancelled`.
   */
  readonly signal: AbortSignal;
  readonly logger: JobLogger;
}
