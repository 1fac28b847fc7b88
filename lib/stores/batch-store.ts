import type { BatchRecord } from '../model/batch.js';
import type { NewBatch } from '../model/batch-progress.js';

/** What came of a batch that was to be stored. */
export interface StoredBatch {
  /** Of each job of each step, in their order, the job that does the work: itself, or the one that holds its key. */
  readonly jobIds: readonly string[];
  /** Jobs that the batch waits for, or will. */
  readonly total: number;
}

/** A page of batches that are not over and done with. */
export interface BatchPage {
  /** Those of which no job waits or runs. */
  readonly idle: readonly string[];
  /** How many there are on this page, idle or not. */
  readonly open: number;
  /** The last one that was looked at; `undefined` where there is none after it. */
  readonly next: string | undefined;
}

/**
 * The seam for batches. A batch has no counters that every job would have to write: its members say in their rows that they belong to it, and
 * those that complete are kept until it ends. Whoever has ended members asks whether any is left; whoever commits last sees that none is.
 */
export interface BatchStore {
  /**
   * Stores a batch with the jobs of its first step, all of it or nothing. One without any job ends at once.
   *
   * @param manager As in `JobStore.insert`.
   */
  insert(batch: NewBatch, manager?: unknown): Promise<StoredBatch>;

  /** Those among these batches of which no job waits or runs. Takes no locks, and costs the same however many jobs they have. */
  idle(ids: readonly string[]): Promise<readonly string[]>;

  /** The next batches behind this one that are not over and done with, at most `limit`, in the order of their ids. */
  page(after: string | undefined, limit: number): Promise<BatchPage>;

  /**
   * Takes a batch of which no job waits or runs one step further: stores the jobs of its next step, or ends it with the job that follows. Once,
   * however many processes ask. Says whether it is at an end, now or before.
   */
  advance(id: string): Promise<'open' | 'ended'>;

  /** Lets go of completed members of a batch that has ended, at most `limit` behind `after`. Returns the last one, `undefined` when through. */
  release(id: string, after: string | undefined, limit: number): Promise<string | undefined>;

  /** Says that nothing is left to do about a batch that has ended; not while one of its jobs, retried by hand, waits or runs. */
  close(id: string): Promise<void>;

  find(id: string): Promise<BatchRecord | undefined>;

  /** Deletes what is known of batches that ended at least so long ago. Returns how many. Several processes may do so at once. */
  prune(endedForMs: number, limit: number): Promise<number>;
}
