import type { NewJob } from '../../model/job.js';

/** What a throttled job is after. */
export interface Slot {
  /** Together with the job type it names the slot. What stands in front keeps throttles apart from other uses of the table. */
  readonly slot: string;
  readonly windowMs: number;
}

/** @throws TypeError for a job without a throttle. */
export function slotOf({ throttle }: NewJob): Slot {
  if (throttle === undefined) throw new TypeError('a job without a throttle has no slot');
  return { slot: `throttle:${throttle.key}`, windowMs: throttle.windowMs };
}
