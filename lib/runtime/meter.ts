import type { Clock } from '../model/clock.js';
import { Histogram } from '../model/histogram.js';
import type { OutcomeKind } from '../model/outcome.js';
import type { Statistics, StatisticsRow } from '../stores/statistics.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';
import type { Ended, OutcomeMeter } from './settler.js';

const minuteMs = 60_000;
const answerMs = 30_000;
/** Beyond these the oldest are dropped: statistics must not fill the memory of a process whose database is away. */
const mostMinutes = 10;
/** How long the store keeps them: a day, and the minute that has just begun. */
const keptMs = 1_441 * minuteMs;

interface Tally {
  completed: number;
  failed: number;
  retried: number;
  readonly waits: Histogram;
  readonly runs: Histogram;
}

type Counted = 'completed' | 'failed' | 'retried';

const countedAs: Readonly<Record<OutcomeKind, Counted | undefined>> = {
  completed: 'completed',
  failed: 'failed',
  expired: 'failed',
  retried: 'retried',
  snoozed: undefined,
  released: undefined,
  abandoned: undefined,
};

export interface MeterParts {
  readonly statistics: Statistics;
  readonly clock: Clock;
  /** The name under which this process claims. */
  readonly owner: string;
}

/**
 * Counts what becomes of the jobs of this process, by type and minute, and stores each minute once it is over. A process that runs no
 * jobs stores nothing; one that is killed takes its last minute with it.
 */
export class Meter implements OutcomeMeter {
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private readonly minutes = new Map<number, Map<string, Tally>>();
  /** What is to be added to this process's clock for the store's. */
  private offsetMs: number | undefined;

  constructor(private readonly parts: MeterParts) {}

  start(): void {
    // Until the answer is there the clocks are taken to agree.
    this.askTheTime().catch(() => undefined);
    this.loop.start();
  }

  /** Stores what there is, once the workers have stopped. Never throws. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.store(Infinity);
  }

  /** Stores what there is to be stored by now, without the loop. Never throws. */
  async tick(): Promise<void> {
    await this.store(this.parts.statistics.takesParts === true ? Infinity : this.now() - minuteMs);
  }

  /** An attempt whose outcome is in the store. */
  count({ attempt, execution, endedAt }: Ended): void {
    const kind = countedAs[execution.outcome.kind];
    if (kind === undefined) return;
    const { clock } = this.parts;
    const now = clock.now() + (this.offsetMs ?? 0);
    const tally = this.tallyOf(now, attempt.job.type);
    tally[kind] += 1;
    if (execution.outcome.kind === 'expired') return;
    const { startedAt, job } = attempt;
    tally.runs.add(endedAt - startedAt);
    if (job.dueAt !== undefined) tally.waits.add(now - (clock.monotonic() - startedAt) - job.dueAt);
  }

  private tallyOf(now: number, type: string): Tally {
    const minute = now - (now % minuteMs);
    let types = this.minutes.get(minute);
    if (types === undefined) {
      this.minutes.set(minute, (types = new Map<string, Tally>()));
      const [oldest = minute] = this.minutes.keys();
      if (this.minutes.size > mostMinutes) this.minutes.delete(oldest);
    }
    let tally = types.get(type);
    if (tally === undefined) types.set(type, (tally = newTally()));
    return tally;
  }

  private async turn(): Promise<number> {
    await this.store(this.now() - minuteMs);
    // A fleet does not write all at once.
    return minuteMs - (this.now() % minuteMs) + 250 + Math.random() * 5_000;
  }

  private now(): number {
    return this.parts.clock.now() + (this.offsetMs ?? 0);
  }

  /** @param upTo Later minutes may not be over yet. */
  private async store(upTo: number): Promise<void> {
    const over = [...this.minutes].filter(([minute]) => minute <= upTo);
    if (over.length === 0) return;
    const { statistics } = this.parts;
    try {
      await withDeadline(statistics.record(over.flatMap((entry) => this.rowsOf(entry))), answerMs);
      for (const [minute] of over) this.minutes.delete(minute);
      await this.askTheTime();
      await withDeadline(statistics.prune(this.now() - keptMs), answerMs);
    } catch {
      // The worker meets an outage as well and reports it; what was not stored is there the next time.
    }
  }

  private async askTheTime(): Promise<void> {
    const { clock, statistics } = this.parts;
    const before = clock.now();
    const now = await withDeadline(statistics.now(), answerMs);
    this.offsetMs = now - (before + clock.now()) / 2;
  }

  private rowsOf([minute, types]: readonly [number, ReadonlyMap<string, Tally>]): readonly StatisticsRow[] {
    return [...types].map(([type, { completed, failed, retried, waits, runs }]) => ({
      type,
      minute: Math.round(minute),
      owner: this.parts.owner,
      completed,
      failed,
      retried,
      waits: waits.toText(),
      runs: runs.toText(),
    }));
  }
}

function newTally(): Tally {
  return { completed: 0, failed: 0, retried: 0, waits: new Histogram(), runs: new Histogram() };
}
