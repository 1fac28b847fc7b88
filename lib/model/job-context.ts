import type { JobBatch } from './batch.js';

/** A logger that carries the job's type and id. */
export interface JobLogger {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/**
 * What a handler receives about the attempt that it runs. With request-scoped handlers it is also what `REQUEST` injects.
 *
 * @typeParam M TypeORM's `EntityManager`, for handlers that use `manager` or `once`: `job: JobContext<EntityManager>`.
 */
export interface JobContext<M = never> {
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
  /**
   * The EntityManager of the transaction that a handler with `transactional: true` runs in.
   *
   * @throws InvalidManagerError in any other handler.
   */
  readonly manager: M;
  /**
   * Runs a step once for the job, over all of its attempts: what it returned is remembered with the job, and a later attempt gets that instead
   * of running it again. The step has a transaction of its own, and `manager` is its EntityManager: what is written through it is committed together with
   * the memory. What it does elsewhere is repeated if the process dies just after it.
   *
   * @param name Tells the steps of one job apart; at most 200 characters.
   * @param run Returns any JSON value, or nothing; at most 64 KiB as JSON.
   * @throws what `run` throws, and nothing is remembered; InvalidPayloadError where JSON cannot carry what it returns; InvalidManagerError on
   *   the memory queue, and on SQLite in a transactional handler; JobAbortedError where the claim on the job is lost.
   */
  once<T>(name: string, run: (manager: M) => T | PromiseLike<T>): Promise<T>;
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
