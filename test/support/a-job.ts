import { v7 as uuidv7 } from 'uuid';
import type { ClaimedJob, NewJob } from '../../lib/model/job.js';

/** A job that is due at once; say only what matters. */
export function aJob(given: Partial<NewJob> = {}): NewJob {
  return { id: uuidv7(), type: 'work', payload: 'null', maxRetries: 3, delayMs: 0, ...given };
}

/** So many of them, in the order of their ids. */
export function someJobs(count: number, given: Partial<NewJob> = {}): readonly NewJob[] {
  return Array.from({ length: count }, () => aJob(given));
}

/** A job that a worker has, in its first attempt and without retries. */
export function aClaimedJob(given: Partial<ClaimedJob> = {}): ClaimedJob {
  return { id: 'a', token: 't', type: 'work', payload: '', attempts: 0, maxRetries: 0, interruptions: 0, ...given };
}
