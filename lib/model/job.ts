import type { JobBatch } from './batch.js';
import type { Throttle } from './duplicates.js';
import type { JobContext } from './job-context.js';

/** A job that is about to be stored. */
export interface NewJob {
  /** UUID v7: ids are time-ordered, so that jobs due at the same moment run in the order of their ids. */
  readonly id: string;
  readonly type: string;
  /** The payload as JSON text. */
  readonly payload: string;
  readonly maxRetries: number;
  /** The queue it waits in. Default 'default'. */
  readonly queue?: string | undefined;
  /** Lower runs first. Default 0. */
  readonly priority?: number | undefined;
  /** Milliseconds that an attempt may take, 0 for no limit; `undefined` leaves that to the handler and the queue. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds from now, by the store's clock, until the job is due. Ignored where `runAt` is given. Default 0. */
  readonly delayMs?: number | undefined;
  /** Moment at which the job is due, epoch milliseconds. */
  readonly runAt?: number | undefined;
  /** Milliseconds from now, by the store's clock, after which no attempt starts. Ignored where `expiresAt` is given. */
  readonly expiresInMs?: number | undefined;
  /** Moment after which no attempt starts, epoch milliseconds. */
  readonly expiresAt?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Of the jobs of one type with this key only one is pending or running at a time; see `JobStore.admit`. */
  readonly uniqueKey?: string | undefined;
  /** What happens when another job holds the key. Default 'keep'. */
  readonly onDuplicate?: 'keep' | 'replace' | undefined;
  /** Of the jobs of one type with this key one runs at a time, in the order in which they are due. */
  readonly key?: string | undefined;
  /** At most one of these jobs per window; see `JobStore.admit`. */
  readonly throttle?: Throttle | undefined;
  /** What is carried from where it was enqueued to where it runs, as JSON text. */
  readonly context?: string | undefined;
  /** The batch that it is a member of: its row is kept until that has ended. */
  readonly batchId?: string | undefined;
  /** The batch that it follows. */
  readonly batch?: JobBatch | undefined;
  /** Memory store only: a function that travels in the place of a registered handler. */
  readonly run?: JobFunction | undefined;
}

/** A function given to `JobQueue.submit`. */
export type JobFunction = (job: JobContext) => unknown;

/**
 * The right to work on one job until a time: the id of the job and a token that is never used twice.
 * Every write after the claim names both, so that a worker which lost its claim changes nothing.
 */
export interface Lease {
  readonly id: string;
  readonly token: string;
}

/** A job that a worker holds under a lease. */
export interface ClaimedJob extends Lease {
  readonly type: string;
  /** The payload as JSON text. */
  readonly payload: string;
  /** Attempts that have failed so far: 0 in the first attempt. */
  readonly attempts: number;
  /** Retries allowed after the first attempt. */
  readonly maxRetries: number;
  /** See `NewJob`. */
  readonly timeoutMs?: number | undefined;
  /** How often a worker died, or lost its lease, while it held this job. */
  readonly interruptions: number;
  /** Moment at which it was stored, epoch milliseconds; memory jobs do not keep it. */
  readonly createdAt?: number | undefined;
  /** Moment at which it was due, epoch milliseconds of the store's clock; memory jobs do not keep it. */
  readonly dueAt?: number | undefined;
  /** Milliseconds from its claim, by the store's clock, after which it must not start; `undefined`: never. */
  readonly expiresInMs?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  /** See `NewJob.key`. */
  readonly key?: string | undefined;
  /** See `NewJob.context`. */
  readonly context?: string | undefined;
  /** See `NewJob.batchId`. */
  readonly batchId?: string | undefined;
  /** See `NewJob.batch`. */
  readonly batch?: JobBatch | undefined;
  readonly run?: JobFunction | undefined;
}

/** Whether it depends on others whether this job is stored, so that it goes through `JobStore.admit`. */
export function isConditional({ uniqueKey, throttle }: NewJob): boolean {
  return uniqueKey !== undefined || throttle !== undefined;
}
