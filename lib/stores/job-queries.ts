import type { AttemptRecord } from '../model/attempt-history.js';
import type { JobProgress } from '../model/job-progress.js';
import type { JobLog } from '../model/log-lines.js';
import type { Lease } from '../model/job.js';
import type { EndedState, JobState } from '../model/job-state.js';

/** A job as its row stands. Moments are epoch milliseconds. */
export interface JobRow {
  readonly id: string;
  readonly type: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxRetries: number;
  readonly interruptions: number;
  readonly runAt: number;
  readonly createdAt: number;
  readonly finishedAt: number | undefined;
  readonly lastError: string | undefined;
  readonly claimedBy: string | undefined;
  readonly leaseUntil: number | undefined;
  readonly queue: string;
  readonly priority: number;
  readonly uniqueKey: string | undefined;
  /** Of the jobs with this key one runs at a time. */
  readonly key: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly expiresAt: number | undefined;
  /** Milliseconds for an attempt, where the job was given its own. */
  readonly timeout: number | undefined;
  /** How far it has come, as its handler said last. */
  readonly progress: JobProgress | undefined;
  /** What its handler has logged by `job.log`; only where one job is looked for. */
  readonly log?: JobLog | undefined;
  /** The batch or chain that it is a member of. */
  readonly batchId: string | undefined;
  /** What has become of its attempts; only where one job is looked for. */
  readonly history?: readonly AttemptRecord[] | undefined;
  /** What the handler of a completed job returned, as JSON text; only where the payload was asked for. */
  readonly result?: string | undefined;
  /** JSON text; only where it was asked for. */
  readonly payload: string | undefined;
}

/** Whether rows are read with their payloads. */
export type PayloadWish = 'with payload' | 'without payload';

/** Where a page ended: the job that came last on it. */
export interface PagePlace {
  readonly id: string;
  /** The moment by which these jobs are sorted; `undefined` where they are sorted by id alone. */
  readonly moment: number | undefined;
}

/** Jobs that belong together; what is left out does not matter. */
export interface JobGroup {
  readonly queue?: string | undefined;
  /** They have this tag, among others perhaps. */
  readonly tag?: string | undefined;
}

/** Which jobs; what is left out does not matter. */
export interface JobFilter extends JobGroup {
  readonly state?: JobState | undefined;
  readonly type?: string | undefined;
  /** Stored at this moment or later. */
  readonly createdFrom?: number | undefined;
  /** Stored before this moment. */
  readonly createdBefore?: number | undefined;
  /** Over since this moment or later. */
  readonly finishedFrom?: number | undefined;
  /** Over since before this moment. */
  readonly finishedBefore?: number | undefined;
  readonly queue?: string | undefined;
  /** Members of this batch. */
  readonly batch?: string | undefined;
  /** Those whose last error contains this text. */
  readonly error?: string | undefined;
}

/** A page of jobs, in the order of their state: see `orderOf`. */
export interface PageRequest {
  readonly filter: JobFilter;
  /** How many at the most. */
  readonly limit: number;
  readonly after: PagePlace | undefined;
  readonly payload: PayloadWish;
}

/** How jobs are sorted that are listed by their state, or without one. */
export interface JobOrder {
  /** What comes first; then, or only, the id does. */
  readonly moment: 'runAt' | 'finishedAt' | undefined;
  readonly direction: 'ascending' | 'descending';
}

/** Those that wait as they are due, those that are over the latest first, those that run as they were stored, and all together the newest first. */
export function orderOf(state: JobState | undefined): JobOrder {
  switch (state) {
    case 'pending':
      return { moment: 'runAt', direction: 'ascending' };
    case 'running':
      return { moment: undefined, direction: 'ascending' };
    case 'completed':
    case 'failed':
    case 'cancelled':
      return { moment: 'finishedAt', direction: 'descending' };
    case undefined:
      return { moment: undefined, direction: 'descending' };
  }
}

/** Where a page of jobs in this state ends, or of all, whose last one this is. */
export function placeOf(state: JobState | undefined, last: JobRow): PagePlace {
  const { moment } = orderOf(state);
  return { id: last.id, moment: moment === undefined ? undefined : last[moment] };
}

/** How many jobs of one type are in one state. */
export interface StateCount {
  readonly state: JobState;
  readonly type: string;
  readonly count: number;
  /** `false`: there are more, they were not counted any further. */
  readonly isExact: boolean;
}

/** The job of its type that has been due for the longest time. */
export interface DueJob {
  readonly id: string;
  readonly type: string;
  readonly runAt: number;
  /** For how long it has been due, by the store's clock. */
  readonly waitingMs: number;
}

/** How many jobs of one type a process holds. */
export interface ClaimCount {
  /** As it stands in `claimed_by`. */
  readonly owner: string;
  readonly type: string;
  readonly count: number;
  /** Milliseconds until the last of these leases ends; below 0 it has ended. */
  readonly endsInMs: number;
}

/** A job that was cancelled. */
export interface CancelledJob {
  readonly id: string;
  readonly from: JobState;
  /** The claim that it was held under, if it ran. */
  readonly claim: Lease | undefined;
  /** Its batch, if it is a member of one. */
  readonly batchId: string | undefined;
}

/** What a change found. */
export interface ChangedJob {
  readonly id: string;
  readonly from: JobState;
  /** Its batch, if it is a member of one. */
  readonly batchId: string | undefined;
}

/** What is changed of a waiting job; what is left out stays. */
export interface JobEdit {
  /** Milliseconds from now, by the store's clock, until it is due. */
  readonly delayMs?: number | undefined;
  /** Moment at which it is due. Not together with `delayMs`. */
  readonly runAt?: number | undefined;
  /** JSON text. */
  readonly payload?: string | undefined;
  readonly maxRetries?: number | undefined;
}

/**
 * The reading side of a store, and its control from outside: what `JobsAdmin` needs and workers do not. Reading takes no locks. A change
 * is guarded by the states that it is legal from, so that whoever comes second finds nothing to do; it answers with what it changed.
 */
export interface JobQueries {
  /**
   * Counts by state and type, each up to `most`. Costs as much as the number of types, times `most`, not as the number of jobs. A group that no
   * index knows costs as much as the jobs that are passed over.
   */
  count(most: number, group?: JobGroup): Promise<readonly StateCount[]>;

  list(request: PageRequest): Promise<readonly JobRow[]>;

  find(id: string, payload: PayloadWish): Promise<JobRow | undefined>;

  /** Of each type that has due jobs, the one that has waited longest. */
  oldestDue(): Promise<readonly DueJob[]>;

  /** Who holds running jobs. */
  claims(): Promise<readonly ClaimCount[]>;

  /**
   * Ends jobs that are in one of these states; no claim on them stands any more.
   *
   * @param keepMs For how long rows of these types are kept then, `Infinity` for ever; those of others are judged by the queue. Default: none.
   */
  cancel(
    ids: readonly string[],
    from: readonly ('pending' | 'running')[],
    keepMs?: ReadonlyMap<string, number>,
  ): Promise<readonly CancelledJob[]>;

  /**
   * Makes jobs due that are over, as if they were new; their last errors stay.
   *
   * @param delayMs After so many milliseconds. Default 0.
   */
  retry(ids: readonly string[], from: readonly EndedState[], delayMs?: number): Promise<readonly ChangedJob[]>;

  /** Deletes jobs. Leaves alone completed ones whose batch has not ended, and counts them. */
  remove(ids: readonly string[], from: readonly ('pending' | EndedState)[]): Promise<readonly ChangedJob[]>;

  /** Changes a job that waits. */
  edit(id: string, edit: JobEdit): Promise<readonly ChangedJob[]>;
}
