import type { Attempt } from '../execution/attempt.js';
import type { Execution } from '../execution/execution.js';
import { encodeAttempt } from '../model/attempt-history.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { Outcome } from '../model/outcome.js';
import type { LostLease, Settlement } from '../stores/job-store.js';
import type { NotePart } from '../execution/attempt-notes.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { tellProgress } from './note-writer.js';

/** An attempt that has ended, on its way to the store. */
export interface Ended {
  readonly attempt: Attempt;
  readonly execution: Execution;
  /** Monotonic milliseconds at which it ended. */
  readonly endedAt: number;
  /** What its handler said last, which the store may not have yet. */
  readonly note?: NotePart | undefined;
  /** Sent before without an answer: it may have taken effect, so finding no row is no surprise. */
  isRepeat: boolean;
}

/** Counts attempts whose outcomes are in the store. */
export interface OutcomeMeter {
  count(ended: Ended): void;
}

/** Who is told once outcomes are in the store, and how many go there at once. */
export interface SettlerOptions {
  /** Absent where nobody reads what it counts. */
  readonly meter?: OutcomeMeter | undefined;
  readonly onStored?: ((ended: readonly Ended[]) => void) | undefined;
  /** As in `JobStore`. */
  readonly mostAtOnce?: number | undefined;
}

/** Most outcomes in one statement. */
const largestBatch = 2_000;

/** Most characters of errors and results in one statement: servers bound what they take at once. */
const heaviestBatch = 2_000_000;

/**
 * Gathers the outcomes of attempts until the worker hands them to the store, many at a time; afterwards says what
 * has happened. An outcome stays here, its lease renewed, until the store has it.
 */
export class Settler {
  private outbox: Ended[] = [];
  /** Characters that are in it, so that only a heavy one is looked through. */
  private weight = 0;
  /** How many are with the store, which has not answered. */
  private travelling = 0;

  constructor(
    private readonly events: JobEvents,
    private readonly keeper: LeaseKeeper | undefined,
    private readonly clock: Clock,
    private readonly options: SettlerOptions = {},
  ) {}

  get size(): number {
    return this.outbox.length;
  }

  /** Attempts that are over, of which the store may know nothing: were the process to die now, their jobs would run again. */
  get unsettled(): number {
    return this.outbox.length + this.travelling;
  }

  /** Takes over what came of an attempt. A lost claim has no outcome: that was said when it was lost. */
  add(attempt: Attempt, execution: Execution): void {
    if (attempt.isLost) return;
    const ended = this.ended(attempt, execution);
    if (execution.isSettled === true) {
      this.told([ended], []);
      return;
    }
    this.outbox.push(ended);
    this.weight += weightOf(ended);
  }

  ended(attempt: Attempt, execution: Execution): Ended {
    attempt.hasEnded = true;
    const note = attempt.notes?.pending();
    return { attempt, execution, endedAt: this.clock.monotonic(), note, isRepeat: false };
  }

  /** Its job was cancelled: whatever comes of it is of no use any more. */
  cancelled(attempt: Attempt): void {
    attempt.isLost = true;
    this.keeper?.drop(attempt);
    attempt.abort('cancelled');
    this.events.emit('cancelled', { job: attempt.job });
  }

  /** Hands out outcomes for one statement, or at most so many; give them back with `putBack` or report them with `stored`. */
  take(most = largestBatch): readonly Ended[] {
    const batch = this.takeOut(Math.min(most, this.options.mostAtOnce ?? most));
    this.travelling += batch.length;
    return batch;
  }

  private takeOut(most: number): readonly Ended[] {
    if (this.outbox.length <= most && this.weight <= heaviestBatch) {
      const all = this.outbox;
      this.outbox = [];
      this.weight = 0;
      return all;
    }
    const batch = this.outbox.splice(0, Math.min(most, this.lightCount()));
    for (const ended of batch) this.weight -= weightOf(ended);
    return batch;
  }

  /** The store did not answer. They go to the end, so that one which cannot be stored does not hold up the others. */
  putBack(batch: readonly Ended[]): void {
    this.travelling -= batch.length;
    for (const ended of batch) {
      ended.isRepeat = true;
      this.outbox.push(ended);
      this.weight += weightOf(ended);
    }
  }

  /** The store has them, except those in `lost`. */
  stored(batch: readonly Ended[], lost: readonly LostLease[]): void {
    this.travelling -= batch.length;
    this.told(batch, lost);
  }

  /** The store has this one, which was not taken out: it was told of it by itself. */
  storedAlone(ended: Ended, lost: readonly LostLease[]): void {
    this.told([ended], lost);
  }

  private told(batch: readonly Ended[], lost: readonly LostLease[]): void {
    const lostLeases = new Map(lost.map((lease) => [lease.token, lease]));
    for (const ended of batch) {
      const { attempt, execution, isRepeat } = ended;
      this.keeper?.drop(attempt);
      const lostLease = lostLeases.get(attempt.job.token);
      if (lostLease?.isCancelled === true) {
        attempt.isLost = true;
        this.events.emit('cancelled', { job: attempt.job });
      } else if (lostLease !== undefined && !isRepeat) {
        attempt.isLost = true;
        this.events.emit('lost', { job: attempt.job, outcome: execution.outcome.kind, hasBegun: attempt.hasBegun });
      } else {
        this.tell(ended);
      }
    }
    if (batch.length > 0) this.options.onStored?.(batch);
  }

  /** Gives up what could not be stored in time; the leases will end by themselves. */
  giveUp(): void {
    const count = this.outbox.length;
    this.outbox = [];
    this.weight = 0;
    if (count > 0) this.events.emit('unsettled', { count });
  }

  /** How many of those that wait make a batch of bearable weight; at least one. */
  private lightCount(): number {
    let weight = 0;
    const tooMany = this.outbox.findIndex((ended) => (weight += weightOf(ended)) > heaviestBatch);
    return tooMany === -1 ? this.outbox.length : Math.max(1, tooMany);
  }

  private tell(ended: Ended): void {
    this.options.meter?.count(ended);
    const { attempt, execution, endedAt, note } = ended;
    const { job } = attempt;
    if (note !== undefined) tellProgress(this.events, attempt, note);
    const { outcome, stack, complaint } = execution;
    if (complaint !== undefined) this.events.emit('complaint', { job, ...complaint });
    const durationMs = endedAt - attempt.startedAt;
    switch (outcome.kind) {
      case 'completed':
        if (this.events.hasListeners('completed')) this.events.emit('completed', { job, durationMs });
        return;
      case 'retried':
        this.events.emit('retried', { job, error: outcome.error, delayMs: outcome.delayMs, durationMs });
        return;
      case 'failed':
        this.events.emit('failed', { job, error: outcome.error, stack, durationMs });
        return;
      case 'expired':
        this.events.emit('expired', { job });
        return;
      case 'snoozed':
        this.events.emit('snoozed', { job, delayMs: outcome.delayMs, durationMs });
        return;
      case 'released':
        this.events.emit('released', { job });
        return;
      case 'abandoned':
        this.events.emit('abandoned', { job });
        return;
    }
  }
}

/** What the store needs to know of ended attempts. */
export function settlementsOf(batch: readonly Ended[]): Settlement[] {
  return batch.map(toSettlement);
}

/** The same of an attempt that is just about to end. */
export function settlementOf(attempt: Attempt, execution: Execution, endedAt: number): Settlement {
  return toSettlement({ attempt, execution, endedAt, note: attempt.notes?.pending(), isRepeat: false });
}

function toSettlement(ended: Ended): Settlement {
  const { attempt, execution, note } = ended;
  return {
    id: attempt.job.id,
    token: attempt.job.token,
    outcome: execution.outcome,
    line: lineOf(ended),
    note: isRowGone(ended) ? undefined : note,
  };
}

function isRowGone({ execution: { outcome } }: Ended): boolean {
  return outcome.kind === 'completed' && outcome.keep === undefined;
}

/** A job whose row goes has no history, and what was given back before it began was no attempt. */
function lineOf(ended: Ended): string | undefined {
  const { attempt, execution, endedAt } = ended;
  const { outcome, complaint } = execution;
  if (!attempt.hasBegun || isRowGone(ended)) return undefined;
  const durationMs = endedAt - attempt.startedAt;
  const texts = [textOf(outcome), complaint?.reason].filter((text) => text !== undefined);
  const error = texts.length === 0 ? undefined : texts.join('; ');
  return encodeAttempt({ attempt: attempt.attempt, durationMs, outcome: outcome.kind, error });
}

function textOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'snoozed') return outcome.reason;
  return 'error' in outcome ? outcome.error : undefined;
}

function weightOf({ execution: { outcome }, note }: Ended): number {
  const text = outcome.kind === 'completed' ? outcome.keep?.result : textOf(outcome);
  return (text?.length ?? 0) + (note?.log?.length ?? 0);
}
