/**
 * What came of a job that was to be stored.
 *
 * - `stored`: it is a new job.
 * - `waiting`: a job with its key waits already; nothing was stored.
 * - `running`: a job with its key runs just now; nothing was stored.
 * - `replaced`: a waiting job with its key has taken its payload and its time.
 * - `throttled`: there was a job in this window already; nothing was stored.
 */
export type EnqueueOutcome = 'stored' | 'waiting' | 'running' | 'replaced' | 'throttled';

/** Which job does the work, and whether it is a new one. */
export interface EnqueueResult {
  /** Of the new job; otherwise of the one that was there before. A throttled one's may be over and gone. */
  readonly id: string;
  /** Whether another job does the work, so that no new one was stored. */
  readonly deduplicated: boolean;
  readonly outcome: EnqueueOutcome;
}

export function enqueueResult(id: string, outcome: EnqueueOutcome): EnqueueResult {
  return { id, deduplicated: outcome !== 'stored', outcome };
}
