import type { AttemptRecord } from '../model/attempt-history.js';
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

/** Which jobs; what is left out does not matter. */
export interface JobFilter {
  readonly state?: JobState | undefined;
  readonly type?: string | undefined;
  /** Stored at this moment or later. */
  readonly createdFrom?: number | undefined;
  /** Stored before this moment. */
  readonly createdBefore?: number | undefined;
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
}

/** What a change found. */
export interface ChangedJob {
  readonly id: string;
  readonly from: JobState;
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
  /** Counts by state and type, each up to `most`. Costs as much as the number of types, times `most`, not as the number of jobs. */
  count(most: number): Promise<readonly StateCount[]>;

  list(request: PageRequest): Promise<readonly JobRow[]>;

  find(id: string, payload: PayloadWish): Promise<JobRow | undefined>;

  /** Of each type that has due jobs, the one that has waited longest. */
  oldestDue(): Promise<readonly DueJob[]>;

  /** Who holds running jobs. */
  claims(): Promise<readonly ClaimCount[]>;

  /** Ends jobs that are in one of these states; no claim on them stands any more. */
  cancel(ids: readonly string[], from: readonly ('pending' | 'running')[]): Promise<readonly CancelledJob[]>;

  /** Makes jobs due that are over, as if they were new; their last errors stay. */
  retry(ids: readonly string[], from: readonly EndedState[]): Promise<readonly ChangedJob[]>;

  remove(ids: readonly string[], from: readonly ('pending' | EndedState)[]): Promise<readonly ChangedJob[]>;

  /** Changes a job that waits. */
  edit(id: string, edit: JobEdit): Promise<readonly ChangedJob[]>;
}
