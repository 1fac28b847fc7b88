import type { Clock } from '../model/clock.js';
import type { BatchStore } from '../stores/batch-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';
import type { Ended } from './settler.js';

export interface BatchCloserParts {
  readonly batches: BatchStore;
  readonly clock: Clock;
}

const answerMs = 30_000;
/** How many batches are looked at in one statement. */
const pageSize = 100;
/** How many members are let go of at once. */
const chunk = 500;
/** How often all open batches are looked at. A look that takes long, since they are many, is taken less often. */
const sweepMs = 5_000;
/** And while there are none. One that others make meanwhile is theirs to close, unless they die in between. */
const quietSweepMs = 30_000;
const longestSweepMs = 60_000;
const sweepShare = 50;
const failureRestMs = 1_000;
/** A look at batches that are not over yet is followed by a rest, so that many short jobs do not mean many looks. */
const lookShare = 4;
const pruneMs = 60_000;
/** For so long it can be asked what has become of a batch. */
const keepMs = 7 * 86_400_000;

/** The batches of the jobs among these that are over. */
export function batchesOf(ended: readonly Ended[]): readonly string[] {
  const ids: string[] = [];
  for (const { attempt, execution } of ended) {
    const { batchId } = attempt.job;
    if (batchId !== undefined && endings.has(execution.outcome.kind)) ids.push(batchId);
  }
  return ids;
}

const endings: ReadonlySet<string> = new Set(['completed', 'failed', 'expired']);

/**
 * Takes batches further whose jobs are over. Whoever has ended a job of a batch says so here once that is in the store, and what gathers is looked at
 * together. Now and then all open batches are looked at, for what others have left behind: a process that died in between, a job that
 * was deleted by hand.
 */
export class BatchCloser {
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private waiting = new Set<string>();
  private isAsleep = false;
  private sweptAt: number | undefined;
  private sweepRestMs = sweepMs;
  /** The last sweep found no batch, and none was heard of since. */
  private isQuiet = false;
  private prunedAt: number;

  constructor(private readonly parts: BatchCloserParts) {
    this.prunedAt = parts.clock.monotonic();
  }

  /** Jobs of these batches are over. */
  tell(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.waiting.add(id);
    this.isQuiet = false;
    if (this.isAsleep) this.loop.wake();
  }

  start(): void {
    // Processes that start together should not sweep together.
    this.sweptAt ??= this.parts.clock.monotonic() - sweepMs * (0.5 + Math.random() / 4);
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    await this.look().catch(() => undefined);
  }

  /** Looks at the batches that were told of, without the loop, and once in a while at all of them. What fails is done the next time. */
  async tick(): Promise<void> {
    try {
      await this.look();
      if (this.untilSweepMs() <= 0) await this.sweep();
    } catch {
      // Whoever ticks meets an outage when a job is claimed.
    }
  }

  private async turn(): Promise<number> {
    this.isAsleep = false;
    try {
      const { clock } = this.parts;
      const startedAt = clock.monotonic();
      await this.look();
      const tookMs = clock.monotonic() - startedAt;
      if (this.untilSweepMs() <= 0) await this.sweep();
      if (this.waiting.size > 0) return tookMs * lookShare;
      this.isAsleep = true;
      return Math.max(1, this.untilSweepMs());
    } catch {
      // The worker meets an outage as well and reports it; what was told of is looked at again.
      return failureRestMs;
    }
  }

  private untilSweepMs(): number {
    if (this.sweptAt === undefined) return 0;
    return this.sweptAt + (this.isQuiet ? quietSweepMs : this.sweepRestMs) - this.parts.clock.monotonic();
  }

  private async look(): Promise<void> {
    const told = [...this.waiting];
    this.waiting = new Set();
    for (let start = 0; start < told.length; start += pageSize) {
      const page = told.slice(start, start + pageSize);
      try {
        await this.closeEach(await this.answer(this.parts.batches.idle(page)));
      } catch (error) {
        for (const id of told.slice(start)) this.waiting.add(id);
        throw error;
      }
    }
  }

  private async sweep(): Promise<void> {
    const { batches, clock } = this.parts;
    this.sweptAt = clock.monotonic();
    let lookedMs = 0;
    let found = 0;
    let after: string | undefined;
    do {
      const startedAt = clock.monotonic();
      const { idle, open, next } = await this.answer(batches.page(after, pageSize));
      // What is done about those that were found says nothing about the next look.
      lookedMs += clock.monotonic() - startedAt;
      found += open;
      await this.closeEach(idle);
      after = next;
    } while (after !== undefined);
    this.sweepRestMs = Math.min(longestSweepMs, Math.max(sweepMs, lookedMs * sweepShare));
    this.isQuiet = found === 0;
    await this.prune();
  }

  private async prune(): Promise<void> {
    const { batches, clock } = this.parts;
    if (clock.monotonic() - this.prunedAt < pruneMs) return;
    const pruned = await this.answer(batches.prune(keepMs, chunk));
    if (pruned < chunk) this.prunedAt = clock.monotonic();
  }

  /** One that cannot be taken further, since its row was changed by hand, must not hold up the others. The next sweep tries again. */
  private async closeEach(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.close(id).catch(() => undefined);
  }

  private async close(id: string): Promise<void> {
    const { batches } = this.parts;
    if ((await this.answer(batches.advance(id))) === 'open') return;
    let after: string | undefined;
    do after = await this.answer(batches.release(id, after, chunk));
    while (after !== undefined);
    await this.answer(batches.close(id));
  }

  private answer<T>(statement: Promise<T>): Promise<T> {
    return withDeadline(statement, answerMs);
  }
}
