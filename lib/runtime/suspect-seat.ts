import type { Attempt } from '../execution/attempt.js';

/**
 * The one seat for a suspect, a job with one interruption left, among all workers of a process: when the process dies, just the job on
 * the seat is named, and no innocent one is taken down with it.
 */
export class SuspectSeat {
  private readonly holders = new Set<Attempt>();
  private readonly unsettled = new Set<Attempt>();

  /** Whether some suspect runs, or is about to. */
  get isTaken(): boolean {
    return this.holders.size > 0;
  }

  /** Whether no suspect stands under our name in the store but the one that would start now. */
  get isClear(): boolean {
    return this.unsettled.size === 0;
  }

  take(attempt: Attempt): void {
    this.holders.add(attempt);
  }

  /** @param fate Whether it is to be settled still, or the store has it under another name. */
  leave(attempt: Attempt, fate: 'gone' | 'to be settled'): void {
    this.holders.delete(attempt);
    if (fate === 'to be settled') this.unsettled.add(attempt);
  }

  settled(attempt: Attempt): void {
    this.unsettled.delete(attempt);
  }
}
