import type { JobUpkeep } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';

export interface PrunerParts {
  readonly store: Pick<JobUpkeep, 'prune' | 'pruneSlots'>;
  /** Failed jobs older than this go, unless their handler said otherwise; milliseconds, `Infinity` for never. */
  readonly failedForMs: number;
}

/** Few enough that no statement holds a lock, or the event loop, for long. */
const chunk = 500;
const answerMs = 30_000;
/** Between two chunks everybody else has his turn. */
const breatherMs = 50;
const intervalMs = 60_000;

/**
 * Deletes jobs past their retention, and throttles that are over, in small chunks with pauses. Processes that do so at the same time pass over each
 * other's rows, and what one of them did not get to, or failed at, is there the next time.
 */
export class Pruner {
  private readonly loop = new Loop(() => this.turn(), 'unref');

  constructor(private readonly parts: PrunerParts) {}

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async turn(): Promise<number> {
    const { store, failedForMs } = this.parts;
    try {
      const slots = await withDeadline(store.pruneSlots(chunk), answerMs);
      const jobs = await withDeadline(store.prune({ failedForMs, limit: chunk }), answerMs);
      if (Math.max(slots, jobs) >= chunk) return breatherMs;
    } catch {
      // The worker meets an outage as well and reports it; whatever else it was, the next round tries again.
    }
    return intervalMs * (0.75 + Math.random() / 2);
  }
}
