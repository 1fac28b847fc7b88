import { enqueueResult, type EnqueueResult } from '../model/enqueue-result.js';
import { isConditional, type NewJob } from '../model/job.js';
import { withDeadline } from '../runtime/deadline.js';
import type { JobStore } from '../stores/job-store.js';
import { InsertBatcher } from './insert-batcher.js';

/** A connection that went silent must not hold up whoever waits for it. */
const answerMs = 30_000;

/**
 * Brings jobs into the store, each on its cheapest way: plain ones share statements. A job with a key or a throttle goes by itself, since it may have to
 * wait for the transaction of somebody else, and nobody should have to wait with it.
 */
export class JobPlacer {
  private readonly batcher: InsertBatcher;

  constructor(private readonly store: Pick<JobStore, 'insert' | 'admit'>) {
    this.batcher = new InsertBatcher(store);
  }

  /** @param manager Of the transaction to join, if any. */
  async place(job: NewJob, manager: unknown): Promise<EnqueueResult> {
    if (isConditional(job)) return (await this.admit([job], manager))[0] ?? enqueueResult(job.id, 'stored');
    await (manager === undefined ? this.batcher.insert(job) : this.store.insert([job], manager));
    return enqueueResult(job.id, 'stored');
  }

  /** All of them or none. */
  async placeAll(jobs: readonly NewJob[], manager: unknown): Promise<readonly EnqueueResult[]> {
    if (jobs.some(isConditional)) return this.admit(jobs, manager);
    if (jobs.length > 0) await this.store.insert(jobs, manager);
    return jobs.map(({ id }) => enqueueResult(id, 'stored'));
  }

  private admit(jobs: readonly NewJob[], manager: unknown): Promise<readonly EnqueueResult[]> {
    const admitted = this.store.admit(jobs, manager);
    return manager === undefined ? withDeadline(admitted, answerMs) : admitted;
  }
}
