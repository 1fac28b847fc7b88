/** What has become of a batch or a chain. The job that follows it finds this in `job.batch`. */
export interface JobBatch {
  /** What `enqueueBatch` or `enqueueChain` returned. */
  readonly id: string;
  /** Its jobs; of a chain, those of all its steps. */
  readonly total: number;
  readonly completed: number;
  /** Jobs that ended in any other way: failed, expired, cancelled or deleted. Steps of a chain that were never reached do not count. */
  readonly failed: number;
}

/** A batch as it stands. All moments are epoch milliseconds. */
export interface BatchRecord extends JobBatch {
  /** `open` while one of its jobs waits or runs. */
  readonly state: 'open' | 'completed' | 'failed';
  readonly createdAt: number;
  /** When the last of its jobs was found to be over. */
  readonly finishedAt: number | undefined;
}
