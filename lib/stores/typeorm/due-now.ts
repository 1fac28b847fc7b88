import type { NewJob } from '../../model/job.js';

/** The clocks of two machines may differ by so much. */
const toleranceMs = 5_000;

/** Whether a job among these is due at once, so that somebody should be woken, in other processes too. Their clocks may differ from this one. */
export function isAnyDueNow(jobs: readonly NewJob[], now: number): boolean {
  return jobs.some(({ runAt, delayMs = 0 }) => (runAt === undefined ? delayMs === 0 : runAt <= now + toleranceMs));
}

/** In how many milliseconds each of these jobs is due that is not yet. */
export function delaysOf(jobs: readonly NewJob[], now: number): readonly number[] {
  return jobs.map(({ runAt, delayMs = 0 }) => (runAt === undefined ? delayMs : runAt - now)).filter((ms) => ms > 0);
}
