import { Watch } from './watch.js';
import type { Clock } from '../model/clock.js';

export interface ClaimDeskParts {
  /** Gives back what stands in the store under our name though we do not hold it. */
  readonly disown: () => Promise<unknown>;
  readonly clock: Clock;
  /** How often that is done without a reason to suspect anything, milliseconds. */
  readonly intervalMs: number;
}

/**
 * Where all claims of one process pass. A claim whose answer got lost on the way leaves jobs under our name that nobody runs,
 * and that nobody else may take; they are given back before the next claim, and now and then in case a statement that was given up has
 * come through late. Never while a claim is under way, whose jobs would look just like that.
 */
export class ClaimDesk {
  private readonly watch = new Watch();
  private underWay = 0;
  private disowning: Promise<void> | undefined;
  private mustDisown = false;
  private disownedAt: number;

  constructor(private readonly parts: ClaimDeskParts) {
    this.disownedAt = parts.clock.monotonic();
  }

  /**
   * Runs a claim.
   *
   * @param claim Resolves when what it claimed is held. What it throws may or may not have taken effect.
   */
  async pass<T>(claim: () => Promise<T>): Promise<T> {
    while (this.disowning !== undefined || this.isDue()) await this.tidy();
    this.underWay += 1;
    try {
      return await claim();
    } catch (error) {
      this.mustDisown = true;
      throw error;
    } finally {
      this.underWay -= 1;
      this.watch.notify();
    }
  }

  /** Several workers claim all the time: those that come now wait until the claims under way are through. */
  private async tidy(): Promise<void> {
    if (this.disowning === undefined && this.underWay > 0) return this.watch.until(() => this.underWay === 0);
    this.disowning ??= this.disown();
    await this.disowning;
  }

  private isDue(): boolean {
    const { clock, intervalMs } = this.parts;
    return this.mustDisown || clock.monotonic() - this.disownedAt >= intervalMs;
  }

  private async disown(): Promise<void> {
    try {
      await this.parts.disown();
      this.mustDisown = false;
      this.disownedAt = this.parts.clock.monotonic();
    } finally {
      this.disowning = undefined;
    }
  }
}
