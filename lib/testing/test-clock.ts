import { checkDuration } from '../model/check.js';
import type { Clock } from '../model/clock.js';

/**
 * The time of jobs in a test. It begins at the real moment and stands still until it is told to go on: what it makes due is due at once, and
 * nobody waits. The timeouts of handlers go by the real time.
 */
export class TestClock implements Clock {
  private passedMs = 0;

  constructor(private readonly startedAt: number = Date.now()) {}

  /** Epoch milliseconds. */
  now(): number {
    return this.startedAt + this.passedMs;
  }

  /** Milliseconds since its start. */
  monotonic(): number {
    return this.passedMs;
  }

  /** Lets so many milliseconds pass. Jobs that are due by then wait for a `tick()` or `drain()`. @throws InvalidOptionError */
  advance(ms: number): void {
    this.passedMs += checkDuration('the ms of advance', ms);
  }

  /** No timer is set: a test says when time passes. */
  startTimer(): () => void {
    return () => undefined;
  }
}
