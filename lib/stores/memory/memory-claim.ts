import type { ClaimedJob, NewJob } from '../../model/job.js';
import type { WaitingJob } from './waiting-line.js';

/** A job that runs, and what is needed to let it wait again. */
export type RunningJob = ClaimedJob & { readonly source: NewJob; readonly expiresAt: number | undefined };

/** @param now Moment on the monotonic clock. */
export function toRunningJob(next: NewJob | WaitingJob, token: string, now: number): RunningJob {
  const waiting = 'job' in next ? next : undefined;
  const source = waiting?.job ?? (next as NewJob);
  const expiresAt = waiting?.expiresAt;
  return {
    id: source.id,
    token,
    type: source.type,
    payload: source.payload,
    attempts: waiting?.attempts ?? 0,
    maxRetries: source.maxRetries,
    timeoutMs: source.timeoutMs,
    interruptions: 0,
    expiresInMs: expiresAt === undefined ? undefined : expiresAt - now,
    tags: source.tags,
    key: source.key,
    context: source.context,
    batchId: source.batchId,
    batch: source.batch,
    run: source.run,
    source,
    expiresAt,
  };
}
