import type { Clock } from '../../model/clock.js';
import { startTimer } from '../../model/timer.js';

/** Moments so close together are one. Jobs are due in whole milliseconds of the database, so it is one more than the delay. */
const grainMs = 5;
/** So many are remembered, the next ones; what is due after them is found by polling. */
const mostMoments = 1_000;

/**
 * Rings at the moments that it was told of. Who has stored a job that is due later knows when to look for it, and need not wait for the poll: it costs
 * a look a moment, and nothing in between. Others may have taken the job by then.
 */
export class Alarm {
  /** Monotonic milliseconds in their order, no two alike. */
  private readonly moments: number[] = [];
  private stopTimer: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  /** Rings at this moment, monotonic milliseconds, or a few later. */
  set(at: number): void {
    const moment = Math.ceil((at + 1) / grainMs) * grainMs;
    const place = this.placeOf(moment);
    if (place >= mostMoments || this.moments[place] === moment) return;
    this.moments.splice(place, 0, moment);
    if (this.moments.length > mostMoments) this.moments.pop();
    if (place === 0) this.wind();
  }

  stop(): void {
    this.moments.length = 0;
    this.stopTimer?.();
  }

  private wind(): void {
    this.stopTimer?.();
    const [next] = this.moments;
    if (next === undefined) return;
    const restMs = Math.max(1, Math.ceil(next - this.clock.monotonic()));
    this.stopTimer = startTimer(restMs, () => this.go(), 'unref');
  }

  private go(): void {
    const now = this.clock.monotonic();
    const later = this.moments.findIndex((moment) => moment > now);
    const passed = this.moments.splice(0, later === -1 ? this.moments.length : later);
    this.wind();
    if (passed.length > 0) this.ring();
  }

  /** Where it stands, or would. */
  private placeOf(moment: number): number {
    let [low, high] = [0, this.moments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.moments[middle] ?? 0) < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
