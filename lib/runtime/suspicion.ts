/** What a claim may bring: anything, a single job whatever it is, or no suspects. */
export type Appetite = 'anything' | 'one' | 'innocent';

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

  /** A suspect was claimed. */
  saw(now: number): void {
    this.seenAt = now;
  }

  /** Says what the next claim may bring, and takes note that it is made. */
  next(now: number): Appetite {
    if (now - this.seenAt > wearsOffMs) return 'anything';
    if (this.untilNextMs(now) > 0) return 'innocent';
    this.askedAt = now;
    return 'one';
  }

  /** Milliseconds until a suspect may come again. */
  untilNextMs(now: number): number {
    return this.askedAt + intervalMs - now;
  }
}
