import { checkDuration } from '../model/check.js';
import type { Clock } from '../model/clock.js';

/**
 * The time of jobs in a test. It begins at the real moment and stands still until it is told to go on: what it makes due is due at once, and
 * nobody waits. The timeouts of handlers go by the real time.
 */
export class TestClock implements Clock {
  /** @internal */
  readonly isStill = true;
  private passedMs = 0;
  private outageMs = 0;

  constructor(private readonly startedAt: number = Date.now()) {}

  /** Epoch milliseconds. */
  now(): number {
    return this.startedAt + this.passedMs;
  }

  /** Milliseconds since its start. */
  monotonic(): number {
    return this.passedMs;
  }

  /** Lets so many milliseconds pass. Jobs that are due by then, and slots of schedules, wait for a `tick()` or `drain()`. @throws InvalidOptionError */
  advance(ms: number): void {
    this.passedMs += checkDuration('the ms of advance', ms);
  }

  /**
   * Lets so many milliseconds pass in which no process runs, so that nobody watches the schedules: their slots are missed, and `misfire` says
   * what becomes of them. @throws InvalidOptionError
   */
  outage(ms: number): void {
    this.advance(ms);
    this.outageMs = this.passedMs;
  }

  /** When the last outage was over; before the first one the moment of the start. Epoch milliseconds. @internal */
  get watchedFrom(): number {
    return this.startedAt + this.outageMs;
  }

  /** No timer is set: a test says when time passes. */
  startTimer(): () => void {
    return () => undefined;
  }
}
