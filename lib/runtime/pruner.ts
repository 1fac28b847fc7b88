import { endedStates, type EndedState } from '../model/job-state.js';
import type { JobStore, JobUpkeep } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';

export interface PrunerParts {
  readonly store: Pick<JobStore, 'mostAtOnce'> & Pick<JobUpkeep, 'prune' | 'pruneSlots'>;
  /** Jobs that have been in this state for longer than its milliseconds go, unless their handler said otherwise; without a number all are kept. */
  readonly keepMs: Readonly<Partial<Record<EndedState, number | undefined>>>;
}

/** Few enough that no statement holds a lock for long. */
const largestChunk = 500;
/** An old row lies where nobody has looked for long: to delete it costs several times of what it costs to work off a job. */
const shareAtOnce = 5;
const answerMs = 30_000;
/** Between two chunks everybody else has his turn. */
const breatherMsPerRow = 0.1;
const intervalMs = 60_000;
/** Where nothing was to be deleted: what has been kept for a day may be kept for some minutes more. */
const idleIntervalMs = 300_000;

/**
 * Deletes jobs past their retention, and throttles that are over, in small chunks with pauses. Processes that do so at the same time pass over each
 * other's rows, and what one of them did not get to, or failed at, is there the next time.
 */
export class Pruner {
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private readonly chunk: number;

  constructor(private readonly parts: PrunerParts) {
    this.chunk = Math.ceil(Math.min(largestChunk, (parts.store.mostAtOnce ?? Infinity) / shareAtOnce));
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async turn(): Promise<number> {
    const { chunk } = this;
    const counts = [0];
    try {
      counts.push(await withDeadline(this.parts.store.pruneSlots(chunk), answerMs));
      for (const state of endedStates) counts.push(await this.prune(state));
    } catch {
      // The worker meets an outage as well and reports it; whatever else it was, the next round tries again.
      return restMs(intervalMs);
    }
    const most = Math.max(...counts);
    if (most >= chunk) return chunk * breatherMsPerRow;
    return restMs(most > 0 ? intervalMs : idleIntervalMs);
  }

  private async prune(state: EndedState): Promise<number> {
    const endedForMs = this.parts.keepMs[state] ?? Infinity;
    return withDeadline(this.parts.store.prune({ state, endedForMs, limit: this.chunk }), answerMs);
  }
}

/** Processes that started together should not delete together. */
function restMs(aboutMs: number): number {
  return aboutMs * (0.75 + Math.random() / 2);
}
