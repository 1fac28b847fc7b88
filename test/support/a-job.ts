import { v7 as uuidv7 } from 'uuid';
import type { NewJob } from '../../lib/model/job.js';

/** A job that is due at once; say only what matters. */
export function aJob(given: Partial<NewJob> = {}): NewJob {
  return { id: uuidv7(), type: 'work', payload: 'null', maxRetries: 3, delayMs: 0, ...given };
}

/** So many of them, in the order of their ids. */
export function someJobs(count: number, given: Partial<NewJob> = {}): readonly NewJob[] {
  return Array.from({ length: count }, () => aJob(given));
}
