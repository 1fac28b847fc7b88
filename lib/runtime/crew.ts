import type { Attempt } from '../execution/attempt.js';
import type { Execution, Executor } from '../execution/executor.js';
import type { Clock } from '../model/clock.js';
import { Fifo } from '../model/fifo.js';
import type { Outcome } from '../model/outcome.js';
import type { Settler } from './settler.js';

/** Told to wait this long, a suspect finds another process, or this one with its other suspect done. */
const suspectDelayMs = 1_000;

export interface CrewParts {
  readonly executor: Executor;
  readonly settler: Settler;
  readonly clock: Clock;
  /** Called after each attempt that has ended, and when the last one is gone. */
  readonly onEnded: () => void;
}

/**
 * The attempts of one worker: those that run, at most `slots` at a time, and those that wait in front of them.
 *
 * A suspect is a job with one interruption left. Suspects run one at a time and never wait here: when the
 * process dies again, the one that is running is named by the store, and an innocent neighbour is not taken down with it.
 */
export class Crew {
  private readonly running = new Set<Attempt>();
  private readonly buffer = new Fifo<Attempt>();
  private suspect: Attempt | undefined;
  private slots = 0;

  constructor(private readonly parts: CrewParts) {}

  get free(): number {
    return this.slots - this.running.size - this.buffer.size;
  }

  get waiting(): number {
    return this.buffer.size;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  attempts(): readonly Attempt[] {
    return [...this.running];
  }

  has(attempt: Attempt): boolean {
    return this.running.has(attempt);
  }

  open(slots: number): void {
    this.slots = slots;
  }

  /** Starts nothing any more and gives back what waits. */
  close(): void {
    this.slots = 0;
    this.giveBackWaiting();
  }

  /** Takes a claimed job: it starts now or waits its turn. */
  admit(attempt: Attempt, isSuspect: boolean): void {
    if (this.slots === 0) this.giveBack(attempt, 0);
    else if (!isSuspect) this.buffer.push(attempt);
    else if (this.suspect !== undefined || this.running.size >= this.slots) this.giveBack(attempt, suspectDelayMs);
    else this.start((this.suspect = attempt));
  }

  /** Puts waiting jobs on free slots. */
  fill(): void {
    while (this.running.size < this.slots) {
      const next = this.buffer.shift();
      if (next === undefined) return;
      if (!next.isLost) this.start(next);
    }
  }

  /** Gives back what has waited since before `moment` (monotonic): another process may be free for it. */
  giveBackStale(moment: number): void {
    const oldest = this.buffer.peek();
    if (oldest !== undefined && oldest.claimedAt < moment) this.giveBackWaiting();
  }

  /** Runs one attempt outside of the slots; resolves when it has ended. The caller settles it and then lets it `leave`. */
  async runBeside(attempt: Attempt): Promise<Execution> {
    this.running.add(attempt);
    attempt.startedAt = this.parts.clock.monotonic();
    return this.parts.executor.execute(attempt);
  }

  leave(attempt: Attempt): void {
    if (this.running.delete(attempt)) this.parts.onEnded();
  }

  /** Tells every attempt to end. */
  abort(): void {
    for (const attempt of this.running) attempt.abort('shutdown');
  }

  /** Counts the attempts that do not end as gone. */
  abandon(): void {
    for (const attempt of this.running) this.parts.settler.add(attempt, { outcome: { kind: 'abandoned' } });
    this.running.clear();
    this.parts.onEnded();
  }

  private start(attempt: Attempt): void {
    this.running.add(attempt);
    attempt.startedAt = this.parts.clock.monotonic();
    void this.parts.executor.execute(attempt).then((execution) => this.end(attempt, execution));
  }

  private end(attempt: Attempt, execution: Execution): void {
    if (!this.running.delete(attempt)) return;
    if (this.suspect === attempt) this.suspect = undefined;
    this.parts.settler.add(attempt, execution);
    this.fill();
    this.parts.onEnded();
  }

  private giveBackWaiting(): void {
    for (let next = this.buffer.shift(); next !== undefined; next = this.buffer.shift()) this.giveBack(next, 0);
  }

  private giveBack(attempt: Attempt, delayMs: number): void {
    const outcome: Outcome = { kind: 'released', delayMs };
    attempt.startedAt = this.parts.clock.monotonic();
    this.parts.settler.add(attempt, { outcome });
  }
}
