import type { Attempt } from '../execution/attempt.js';
import type { Execution } from '../execution/execution.js';
import type { Executor } from '../execution/executor.js';
import type { Clock } from '../model/clock.js';
import { Fifo } from '../model/fifo.js';
import { RecentSet } from '../model/recent-set.js';
import type { Outcome } from '../model/outcome.js';
import { charactersOf } from '../stores/payload-room.js';
import type { Ended, Settler } from './settler.js';
import type { SuspectSeat } from './suspect-seat.js';

/** So many cancelled claims are remembered that are not here: their jobs may be on the way. */
const mostEarly = 1_000;

export interface CrewParts {
  readonly executor: Executor;
  readonly settler: Settler;
  readonly clock: Clock;
  readonly seat: SuspectSeat;
  /** How many attempts may be over without the store knowing of it, beside one for each slot: those are what a crash repeats. */
  readonly prefetch: number;
  /** Whether its lease may be over, so that another worker may have the job by now. */
  readonly isOver: (attempt: Attempt) => boolean;
  /** Called after each attempt that has ended, and when the last one is gone. */
  readonly onEnded: () => void;
}

/**
 * The attempts of one worker: those that run, at most `slots` at a time, and those that wait in front of them.
 *
 * A suspect is a job with one interruption left. Suspects run one at a time, and while one runs no other stands under our name in the
 * store: when the process dies again, just this one is named, and an innocent neighbour is not taken down with it.
 */
export class Crew {
  private readonly running = new Set<Attempt>();
  private readonly buffer = new Fifo<Attempt>();
  private suspect: Attempt | undefined;
  /** Has the next free slot, and starts when no other suspect is left to be settled. */
  private nextSuspect: Attempt | undefined;
  private slots = 0;
  /** Slots that what waits here does not get. */
  private kept = 0;
  private readonly cancelledEarly = new RecentSet<string>(mostEarly);

  constructor(private readonly parts: CrewParts) {}

  /** How many jobs run at a time. */
  get size(): number {
    return this.slots;
  }

  get free(): number {
    return this.slots - this.taken - this.buffer.size;
  }

  /** Whether no further suspect may be claimed. */
  get hasSuspect(): boolean {
    return this.parts.seat.isTaken;
  }

  /** Whether slots are kept free for jobs that are not claimed ahead. */
  get isKeeping(): boolean {
    return this.kept > 0;
  }

  /** Whether so many outcomes wait for the store that nothing may start: what were claimed now would only wait here and go back. */
  get isClogged(): boolean {
    return this.parts.settler.size >= this.slots + this.parts.prefetch;
  }

  get waiting(): number {
    return this.buffer.size + (this.nextSuspect === undefined ? 0 : 1);
  }

  /** Characters of the payloads that wait here; a suspect, which comes alone, is not counted. */
  get waitingCharacters(): number {
    return charactersOf(this.buffer.values().map(({ job }) => job));
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  attempts(): readonly Attempt[] {
    return [...this.running];
  }

  /** Those that run, and those that will run next. */
  held(): readonly Attempt[] {
    const next = this.nextSuspect === undefined ? [] : [this.nextSuspect];
    return [...this.running, ...this.buffer.values(), ...next];
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
    if (this.nextSuspect !== undefined) this.giveBackSuspect(this.nextSuspect);
    this.nextSuspect = undefined;
  }

  /** Takes a claimed job: it starts now or waits its turn. */
  admit(attempt: Attempt, isSuspect: boolean): void {
    if (this.cancelledEarly.delete(attempt.job.token)) this.parts.settler.cancelled(attempt);
    else if (this.slots === 0) this.giveBack(attempt);
    else if (!isSuspect) this.buffer.push(attempt);
    else if (!this.hasSuspect) this.seat(attempt);
    else this.giveBackSuspect(attempt);
  }

  /**
   * Keeps slots free, as they get free, for jobs that are not claimed ahead.
   *
   * @returns How many of them are free now.
   */
  keep(most: number): number {
    this.kept = 0;
    const { room } = this;
    this.kept = most;
    return Math.min(most, room);
  }

  /** Takes a claimed job for which a slot was kept: it starts now, or goes back. */
  admitNow(attempt: Attempt, isSuspect: boolean): void {
    if (this.cancelledEarly.delete(attempt.job.token)) this.parts.settler.cancelled(attempt);
    else if (isSuspect) {
      this.admit(attempt, isSuspect);
      this.startSuspect();
    } else if (this.taken < this.slots && this.isInTime(attempt)) this.start(attempt);
    else this.giveBack(attempt);
  }

  /** The store has these. */
  stored(batch: readonly Ended[]): void {
    const { seat } = this.parts;
    if (seat.isClear) return;
    for (const { attempt } of batch) seat.settled(attempt);
  }

  /** Puts waiting jobs on free slots. */
  fill(): void {
    this.startSuspect();
    while (this.room > 0) {
      const next = this.buffer.shift();
      if (next === undefined) return;
      if (!this.isInTime(next)) this.giveBack(next);
      else if (!next.isLost) this.start(next);
    }
  }

  /** Gives back what has waited since before `moment` (monotonic): another process may be free for it. */
  giveBackStale(moment: number): void {
    const oldest = this.buffer.peek();
    if (oldest !== undefined && oldest.claimedAt < moment) this.giveBackWaiting();
    const suspect = this.nextSuspect;
    if (suspect === undefined || suspect.claimedAt >= moment || this.running.size < this.slots) return;
    this.nextSuspect = undefined;
    this.giveBackSuspect(suspect);
  }

  /** Runs one attempt outside of the slots; resolves when it has ended. The caller settles it and then lets it `leave`. */
  async runBeside(attempt: Attempt): Promise<Execution> {
    this.running.add(attempt);
    if (this.cancelledEarly.delete(attempt.job.token)) {
      attempt.startedAt = this.parts.clock.monotonic();
      this.parts.settler.cancelled(attempt);
      return { outcome: { kind: 'released', delayMs: 0 } };
    }
    attempt.begin(this.parts.clock.monotonic());
    return this.parts.executor.execute(attempt);
  }

  leave(attempt: Attempt): void {
    if (this.running.delete(attempt)) this.parts.onEnded();
  }

  /** The job of this claim was cancelled. Its attempt ends if it runs, and does not start if it waits or is still on its way. */
  cancel(token: string): void {
    const isMeant = (attempt: Attempt): boolean => attempt.job.token === token;
    const attempt = [...this.running, this.nextSuspect].find((one) => one !== undefined && isMeant(one));
    if (attempt !== undefined && attempt === this.nextSuspect) this.unseat(attempt);
    const cancelled = attempt ?? this.buffer.remove(isMeant);
    if (cancelled === undefined) this.cancelledEarly.add(token);
    else this.parts.settler.cancelled(cancelled);
  }

  /** Tells every attempt to end. */
  abort(): void {
    for (const attempt of this.running) attempt.abort('shutdown');
  }

  /** Counts the attempts that do not end as gone. */
  abandon(): void {
    for (const attempt of this.running) {
      attempt.abandon();
      this.parts.settler.add(attempt, { outcome: { kind: 'abandoned' } });
    }
    this.running.clear();
    if (this.suspect !== undefined) this.parts.seat.leave(this.suspect, 'gone');
    this.suspect = undefined;
    this.parts.onEnded();
  }

  /** Slots that run a job or are kept for a suspect. */
  private get taken(): number {
    return this.running.size + this.kept + (this.nextSuspect === undefined ? 0 : 1);
  }

  /** How many attempts may start. */
  private get room(): number {
    const free = this.slots - this.taken;
    return Math.min(free, free + this.parts.prefetch - this.parts.settler.unsettled);
  }

  private isInTime(attempt: Attempt): boolean {
    return !this.parts.isOver(attempt) && this.parts.clock.monotonic() <= attempt.startsBy;
  }

  private seat(attempt: Attempt): void {
    this.nextSuspect = attempt;
    this.parts.seat.take(attempt);
  }

  private unseat(attempt: Attempt): void {
    this.nextSuspect = undefined;
    this.parts.seat.leave(attempt, 'gone');
  }

  private startSuspect(): void {
    const next = this.nextSuspect;
    if (next === undefined || !this.parts.seat.isClear || this.running.size >= this.slots) return;
    this.nextSuspect = undefined;
    if (!this.isInTime(next)) this.giveBackSuspect(next);
    else if (next.isLost) this.parts.seat.leave(next, 'gone');
    else this.start((this.suspect = next));
  }

  private start(attempt: Attempt): void {
    this.running.add(attempt);
    attempt.begin(this.parts.clock.monotonic());
    void this.parts.executor.execute(attempt).then((execution) => this.end(attempt, execution));
  }

  private end(attempt: Attempt, execution: Execution): void {
    if (!this.running.delete(attempt)) return;
    if (this.suspect === attempt) this.suspectEnded(attempt, execution);
    this.parts.settler.add(attempt, execution);
    this.fill();
    this.parts.onEnded();
  }

  private suspectEnded(attempt: Attempt, { isSettled }: Execution): void {
    this.suspect = undefined;
    this.parts.seat.leave(attempt, isSettled === true ? 'gone' : fateOf(attempt));
  }

  private giveBackWaiting(): void {
    for (let next = this.buffer.shift(); next !== undefined; next = this.buffer.shift()) this.giveBack(next);
  }

  private giveBackSuspect(attempt: Attempt): void {
    this.parts.seat.leave(attempt, fateOf(attempt));
    this.giveBack(attempt);
  }

  /** Gives back a claim that has not started. */
  giveBack(attempt: Attempt): void {
    const outcome: Outcome = { kind: 'released', delayMs: 0 };
    this.parts.settler.add(attempt, { outcome });
  }
}

/** A lost one is not settled: it stands under another name already. */
function fateOf({ isLost }: Attempt): 'gone' | 'to be settled' {
  return isLost ? 'gone' : 'to be settled';
}
