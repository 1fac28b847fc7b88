/** After so long without a suspect they are not looked out for any more: it costs a little with each claim. */
const wearsOffMs = 60_000;
/** How often a suspect may come while there are other jobs to run. */
const intervalMs = 250;

/**
 * Sees to it that suspects are claimed one at a time.
 *
 * A crash interrupts whatever stands under our name, started or not. Of several suspects that one claim has brought, those that
 * wait or go back would be named together with the one to blame, and fail without ever having run. Where processes crash, suspects are
 * about: so a new process looks out for them, and goes on for a while after each that it has seen.
 */
export class Suspicion {
  private seenAt: number;
  private askedAt = -Infinity;

  constructor(now: number) {
    this.seenAt = now;
  }

  /** Takes note of a suspect. */
  saw(now: number): void {
    this.seenAt = now;
  }

  /** Takes note of a claim that may have brought one. */
  asked(now: number): void {
    this.askedAt = now;
  }

  /** Whether suspects are looked out for: they must come alone. */
  isAwake(now: number): boolean {
    return now - this.seenAt <= wearsOffMs;
  }

  /** Whether it is time to let one come, if there is one. */
  isDue(now: number): boolean {
    return this.isAwake(now) && this.untilDueMs(now) <= 0;
  }

  /** Milliseconds until it is. */
  untilDueMs(now: number): number {
    return this.askedAt + intervalMs - now;
  }
}
