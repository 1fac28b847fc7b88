import type { PauseTarget } from '../pauses.js';
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

/** Pauses stand under a type that no job can have, so that a claim finds all of them in one place. */
export const pausesType = '';
export const pausedType = 'paused type:';
export const pausedQueue = 'paused queue:';

export function pauseSlot({ kind, name }: PauseTarget): string {
  return `${kind === 'type' ? pausedType : pausedQueue}${name}`;
}

/** Reads a slot back; `undefined` where somebody else has put it there. */
export function toPause(slot: string): PauseTarget | undefined {
  if (slot.startsWith(pausedType)) return { kind: 'type', name: slot.slice(pausedType.length) };
  return slot.startsWith(pausedQueue) ? { kind: 'queue', name: slot.slice(pausedQueue.length) } : undefined;
}
