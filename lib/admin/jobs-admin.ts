import type { BatchRecord } from '../model/batch.js';
import type { ControlResult } from '../model/control-result.js';
import type { DueOptions } from '../model/enqueue-options.js';
import { toJobId } from '../model/job-id.js';
import { controllable, type EndedState, type JobState } from '../model/job-state.js';
import type { Lease } from '../model/job.js';
import type { BatchStore } from '../stores/batch-store.js';
import type { ChangedJob, DueJob, JobEdit, JobQueries } from '../stores/job-queries.js';
import {
  resolveBulkFilter,
  resolveBulkOptions,
  resolveChanges,
  resolveCountOptions,
  resolveDue,
  resolveListOptions,
  resolveReadOptions,
  resolveRetryOptions,
  type BulkOptions,
  type CountOptions,
  type JobChanges,
  type JobFilterOptions,
  type ListOptions,
  type ReadOptions,
  type RetryManyOptions,
} from './admin-options.js';
import { resolvePause, type PauseOptions } from './pause-options.js';
import type { Pauses, PauseTarget } from '../stores/pauses.js';
import { largestChunk, runBulk, type BulkResult } from './bulk.js';
import { toRecord, type JobRecord } from './job-record.js';
import { toCounts, toProcesses, type JobCounts, type JobProcess } from './overview.js';
import { runControl, type Control } from './control.js';
import { toCursor } from './page-cursor.js';
import type { Statistics } from '../stores/statistics.js';
import {
  resolveStatisticsOptions,
  toStatistics,
  type JobStatistics,
  type StatisticsOptions,
} from './job-statistics.js';
import type { ScheduleRecord } from './schedule-record.js';

export interface JobsAdminParts {
  /** The store of the queue, opened on demand. */
  readonly queries: () => Promise<JobQueries>;
  readonly pauses: () => Promise<Pauses>;
  readonly statistics: () => Promise<Statistics>;
  readonly schedules: () => Promise<readonly ScheduleRecord[]>;
  /** Ends attempts of this process that run under these claims. */
  readonly onCancelled: (claims: readonly Lease[]) => void;
  readonly batches: () => Promise<Pick<BatchStore, 'find'>>;
  /** Told of batches of which jobs are over. */
  readonly onBatches: (ids: readonly string[]) => void;
  readonly maxPayloadSize: number;
  /** For how long cancelled jobs are kept, milliseconds, where that was said of their types. */
  readonly keepCancelledMs: () => ReadonlyMap<string, number>;
}

/** Jobs of one page. */
export interface JobPage {
  readonly jobs: readonly JobRecord[];
  /** `after` of the next page; `undefined` when this is the last one. */
  readonly next: string | undefined;
}

/**
 * Looks at the jobs of one persistent queue and controls them, in whatever process they run. What a dashboard, a health check or a
 * command line shows and does goes through here.
 *
 * Each control is one guarded step: of two at once one does it, and the other one learns what it found. Whatever it is called with
 * from outside is checked: a wrong option is an InvalidOptionError, an id of no job is `notFound`.
 *
 * All methods throw a StoreError when the database refuses or does not answer.
 */
export class JobsAdmin {
  /** For the queue; yours is `queue.admin`, or is injected. */
  constructor(private readonly parts: JobsAdminParts) {}

  /** Counts jobs by state and type, each up to `upTo` (10 000): costs the same however many there are, unless a `tag` is asked for. @throws InvalidOptionError */
  async counts(options?: CountOptions): Promise<JobCounts> {
    const { most, group } = resolveCountOptions(options);
    return toCounts(await (await this.parts.queries()).count(most, group));
  }

  /**
   * A page of jobs. Those that wait come as they are due, those that are over the latest first, those that run as they were stored; without a
   * state all come, the newest first.
   *
   * @throws InvalidOptionError | InvalidJobTypeError
   */
  async list(options?: ListOptions): Promise<JobPage> {
    const request = resolveListOptions(options);
    const { limit, filter } = request;
    const rows = await (await this.parts.queries()).list({ ...request, limit: limit + 1 });
    const last = rows[limit - 1];
    const hasMore = rows.length > limit && last !== undefined;
    return { jobs: rows.slice(0, limit).map(toRecord), next: hasMore ? toCursor(filter.state, last) : undefined };
  }

  /** One job, or `undefined` when there is none of this id, or none any more. @throws InvalidOptionError */
  async find(id: string, options?: ReadOptions): Promise<JobRecord | undefined> {
    const jobId = toJobId(id);
    const wish = resolveReadOptions(options);
    const row = jobId === undefined ? undefined : await (await this.parts.queries()).find(jobId, wish);
    return row === undefined ? undefined : toRecord(row);
  }

  /** Of each type that has due jobs, the one that has waited longest. */
  async oldestDue(): Promise<readonly DueJob[]> {
    return (await this.parts.queries()).oldestDue();
  }

  /** The processes that hold running jobs, and how many. One that is idle holds none and is not seen. */
  async processes(): Promise<readonly JobProcess[]> {
    return toProcesses(await (await this.parts.queries()).claims());
  }

  /**
   * Throughput and latency by type, over all processes: what became of jobs in the last hour, or in `window`. A process adds a minute a few
   * seconds after its end, and when it stops.
   *
   * @throws InvalidOptionError
   */
  async statistics(options?: StatisticsOptions): Promise<JobStatistics> {
    const windowMs = resolveStatisticsOptions(options);
    const statistics = await this.parts.statistics();
    const until = await statistics.now();
    return toStatistics(await statistics.read(until - windowMs), until, windowMs);
  }

  /**
   * Ends a job that waits or runs. It is `cancelled` at once, and no attempt can change that any more. The `signal` of a running one is
   * aborted with the reason `cancelled`: in this process at once, in another one with its next heartbeat, within a third of its lease.
   *
   * @throws InvalidOptionError when `id` is no text.
   */
  cancel(id: string): Promise<ControlResult> {
    return this.control(id, controllable.cancel, (queries, jobId) =>
      this.cancelIn(queries, [jobId], controllable.cancel),
    );
  }

  /**
   * Makes a failed or cancelled job due now, with all of its retries and interruptions before it. Its last error stays until there is a newer one.
   *
   * @throws InvalidOptionError when `id` is no text.
   */
  async retry(id: string): Promise<ControlResult> {
    const { retry } = controllable;
    const result = await this.control(id, retry, (queries, jobId) => queries.retry([jobId], retry));
    // In the right state, and still not changed.
    const isKept = result.result === 'wrongState' && retry.some((state) => state === result.state);
    return isKept ? { result: 'keyTaken', state: result.state } : result;
  }

  /** Deletes a job that waits or is over. One that runs must be cancelled first. @throws InvalidOptionError when `id` is no text. */
  delete(id: string): Promise<ControlResult> {
    return this.control(id, controllable.delete, (queries, jobId) =>
      this.removeIn(queries, [jobId], controllable.delete),
    );
  }

  /** Gives a waiting job another time, in place of that of its enqueue or its backoff. @throws InvalidOptionError */
  async reschedule(id: string, due: DueOptions): Promise<ControlResult> {
    return this.edit(id, resolveDue(due));
  }

  /**
   * Gives a waiting job another payload, or another number of retries.
   *
   * @throws InvalidOptionError | InvalidPayloadError | PayloadTooLargeError
   */
  async update(id: string, changes: JobChanges): Promise<ControlResult> {
    return this.edit(id, resolveChanges(changes, this.parts.maxPayloadSize));
  }

  /** Cancels the jobs of a filter: without a state those that wait, then those that run. @throws InvalidOptionError */
  async cancelMany(filter: JobFilterOptions, options?: BulkOptions): Promise<BulkResult> {
    const resolved = resolveBulkFilter(filter, controllable.cancel);
    const limit = resolveBulkOptions(options);
    const queries = await this.parts.queries();
    const states = controllable.cancel.filter((state) => state === (resolved.state ?? state));
    const change = (ids: readonly string[], state: (typeof states)[number]) => this.cancelIn(queries, ids, [state]);
    return runBulk(queries, { filter: resolved, states, limit, change });
  }

  /**
   * Retries the jobs of a filter: without a state those that failed and those that were cancelled. `perSecond` spreads the moments at which
   * they are due, so that what has recovered from an outage is not knocked over again.
   *
   * @throws InvalidOptionError
   */
  async retryMany(filter: JobFilterOptions, options?: RetryManyOptions): Promise<BulkResult> {
    const resolved = resolveBulkFilter(filter, controllable.retry);
    const { limit, perSecond } = resolveRetryOptions(options);
    const queries = await this.parts.queries();
    const states = controllable.retry.filter((state) => state === (resolved.state ?? state));
    const chunk = Math.min(perSecond ?? largestChunk, largestChunk);
    const apartMs = perSecond === undefined ? 0 : Math.ceil((chunk / perSecond) * 1_000);
    const change = (ids: readonly string[], state: EndedState, page: number) =>
      queries.retry(ids, [state], page * apartMs);
    return runBulk(queries, { filter: resolved, states, limit, chunk, change });
  }

  /**
   * Deletes the jobs of a filter: without a state those that failed and those that were cancelled. Jobs that wait are deleted only
   * where the filter says `state: 'pending'`.
   *
   * @throws InvalidOptionError
   */
  async deleteMany(filter: JobFilterOptions, options?: BulkOptions): Promise<BulkResult> {
    const resolved = resolveBulkFilter(filter, controllable.delete);
    const limit = resolveBulkOptions(options);
    const queries = await this.parts.queries();
    const unasked: readonly JobState[] = controllable.retry;
    const states = controllable.delete.filter((state) =>
      resolved.state === undefined ? unasked.includes(state) : state === resolved.state,
    );
    return runBulk(queries, {
      filter: resolved,
      states,
      limit,
      change: (ids, state) => this.removeIn(queries, ids, [state]),
    });
  }

  /**
   * Lets no process claim jobs of this type, or in this queue, any more until `resume`, also not those that start later. Jobs that run go
   * on, and jobs can be enqueued. Says whether it was not paused before.
   *
   * @throws InvalidOptionError | InvalidJobTypeError
   */
  async pause(target: PauseOptions): Promise<boolean> {
    return (await this.parts.pauses()).pause(resolvePause(target));
  }

  /** Lets jobs be claimed again. Says whether they were paused. @throws InvalidOptionError | InvalidJobTypeError */
  async resume(target: PauseOptions): Promise<boolean> {
    return (await this.parts.pauses()).resume(resolvePause(target));
  }

  /** Recurring jobs: their times, their next and last slot, whether they are paused, how often one was passed over. */
  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.parts.schedules();
  }

  /** What is paused: types and queues. */
  async paused(): Promise<readonly PauseTarget[]> {
    return (await this.parts.pauses()).list();
  }

  /** What has become of a batch or a chain; `undefined` when there is none of this id, or it ended more than 7 days ago. @throws InvalidOptionError */
  async batch(id: string): Promise<BatchRecord | undefined> {
    const batchId = toJobId(id);
    return batchId === undefined ? undefined : (await this.parts.batches()).find(batchId);
  }

  private edit(id: string, edit: JobEdit): Promise<ControlResult> {
    return this.control(id, controllable.edit, (queries, jobId) => queries.edit(jobId, edit));
  }

  private async cancelIn(
    queries: JobQueries,
    ids: readonly string[],
    from: readonly ('pending' | 'running')[],
  ): Promise<readonly ChangedJob[]> {
    const cancelled = await queries.cancel(ids, from, this.parts.keepCancelledMs());
    this.parts.onCancelled(cancelled.map(({ claim }) => claim).filter((claim) => claim !== undefined));
    this.tellBatches(cancelled);
    return cancelled;
  }

  private async removeIn(
    queries: JobQueries,
    ids: readonly string[],
    from: readonly ('pending' | EndedState)[],
  ): Promise<readonly ChangedJob[]> {
    const removed = await queries.remove(ids, from);
    this.tellBatches(removed);
    return removed;
  }

  private tellBatches(over: readonly Pick<ChangedJob, 'batchId'>[]): void {
    const ids = over.map(({ batchId }) => batchId).filter((id) => id !== undefined);
    if (ids.length > 0) this.parts.onBatches(ids);
  }

  private control(id: string, from: Control['from'], change: Control['change']): Promise<ControlResult> {
    return runControl(this.parts.queries, { id, from, change });
  }
}
