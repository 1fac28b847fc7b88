import type { NewJob } from '../../model/job.js';

/** The clocks of two machines may differ by so much. */
const toleranceMs = 5_000;

/** Whether a job among these is due at once, so that somebody should be woken; what is due later is found by polling. */
export function isAnyDueNow(jobs: readonly NewJob[], now: number): boolean {
  return jobs.some(({ runAt, delayMs = 0 }) => (runAt === undefined ? delayMs === 0 : runAt <= now + toleranceMs));
}
