import type { Clock } from '../../model/clock.js';
import { Heap } from '../../model/heap.js';
import { Lanes } from '../../model/lanes.js';
import type { NewJob } from '../../model/job.js';
import { KeyLines } from './key-lines.js';
import { startTimer } from '../../model/timer.js';

/** A job that waits; what a claim needs besides is made only when it is claimed, so that a million of them stay small. */
export interface WaitingJob {
  readonly job: NewJob;
  /** On the monotonic clock: a wait is as long as it was to be, whatever becomes of the time of day meanwhile. */
  readonly dueAt: number;
  readonly attempts: number;
  /** Keeps jobs that are due at the same moment in their order. */
  readonly order: number;
  /** On the monotonic clock too. */
  readonly expiresAt?: number | undefined;
  /** Whether it was claimed before: others of its key wait for it. */
  readonly wasHanded?: boolean;
  /** What has taken its place. It stays where it is, so that a job which is put off over and over is still only one entry. */
  replacement?: WaitingJob;
  /** Whether it is passed over, since what has taken its place is due earlier and stands in the line by itself. */
  isGone?: boolean;
}

export interface WaitingLineParts {
  readonly clock: Clock;
  /** Called when a job becomes due by the mere passing of time. */
  readonly onDue: () => void;
  /** Called when a job stands in another place than before. */
  readonly onMoved: (entry: WaitingJob) => void;
}

/** The jobs of a memory store that wait: due ones in a queue, later ones in a heap. */
export class WaitingLine {
  private readonly due = new Lanes<NewJob | WaitingJob>();
  private readonly later = new Heap<WaitingJob>(
    (a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order),
  );
  /** By type, what is due and has to wait for others of its type. */
  private readonly aside = new Map<string, Lanes<NewJob | WaitingJob>>();
  /** Those that are due and have a key. */
  private readonly keyed = new KeyLines<NewJob | WaitingJob>();
  /** The types whose jobs all wait aside, from the moment at which they are due. */
  private readonly separate = new Set<string>();
  private gone = 0;
  private timer: { readonly at: number; readonly stop: () => void } | undefined;

  constructor(private readonly parts: WaitingLineParts) {}

  get size(): number {
    return this.due.size + this.asideSize + this.keyed.size + this.later.size - this.gone;
  }

  /** Whether some job is due, or becomes so until `moment` (monotonic). */
  isAnyDueUntil(moment: number): boolean {
    // Entries that others have taken the place of are all that is left.
    if (this.size === 0) return false;
    const soonest = this.later.peek();
    return this.due.size + this.asideSize + this.keyed.size > 0 || (soonest !== undefined && soonest.dueAt <= moment);
  }

  /** When the first job will be due that is not yet, on the monotonic clock; `undefined` where none will. */
  get nextDueAt(): number | undefined {
    return this.later.peek()?.dueAt;
  }

  /** Takes a job that is due. */
  pushDue(job: NewJob | WaitingJob): void {
    const { type, priority, key } = jobOf(job);
    if (key !== undefined) {
      const wasHanded = 'job' in job && job.wasHanded === true;
      this.keyed.push(job, { type, key, wasHanded });
      if (wasHanded && job.isGone !== true) this.keyed.putOff(type, key, -1);
      return;
    }
    if (this.separate.has(type)) this.asideOf(type).push(job, priority);
    else this.due.push(job, priority);
  }

  /** From now on jobs of this type are handed out by `shiftOf` alone. */
  setApart(type: string): void {
    if (this.separate.has(type)) return;
    this.separate.add(type);
    const all: (NewJob | WaitingJob)[] = [];
    for (let next = this.due.shift(); next !== undefined; next = this.due.shift()) all.push(next);
    for (const item of all) this.pushDue(item);
  }

  /** Hands out the next job of a type that is set apart. To be called after `promote`. */
  shiftOf(type: string): NewJob | WaitingJob | undefined {
    const lane = this.aside.get(type);
    return lane === undefined ? undefined : this.nextOf(lane);
  }

  /** Takes back a job that was claimed; it is due again later, before all others of its key. */
  pushAgain(entry: WaitingJob): void {
    const { type, key } = entry.job;
    if (key !== undefined) this.keyed.putOff(type, key, 1);
    this.keyEnded(entry.job);
    this.pushLater(entry);
  }

  pushLater(entry: WaitingJob): void {
    this.later.push(entry);
    this.armTimer();
  }

  push(entry: WaitingJob): void {
    if (entry.dueAt <= this.parts.clock.monotonic()) this.pushDue(entry);
    else this.pushLater(entry);
  }

  replace(entry: WaitingJob, replacement: WaitingJob): void {
    if (replacement.dueAt >= entry.dueAt) {
      entry.replacement = replacement;
      return;
    }
    entry.isGone = true;
    this.gone += 1;
    const { type, key } = entry.job;
    // Its time is not waited for any more.
    if (entry.wasHanded === true && key !== undefined) this.keyed.putOff(type, key, -1);
    this.push(replacement);
    this.parts.onMoved(replacement);
  }

  /** Whether the job with this id is here, due or not. */
  has(id: string): boolean {
    const isMeant = meant(id);
    const lanes = [this.due, ...this.aside.values(), this.keyed];
    return this.later.some(isMeant) || lanes.some((lane) => lane.some(isMeant));
  }

  /** Takes out the job with this id, due or not. */
  remove(id: string): NewJob | undefined {
    const isMeant = meant(id);
    const late = this.later.remove(isMeant);
    const found = late ?? this.due.remove(isMeant) ?? this.removeAside(isMeant) ?? this.keyed.remove(isMeant);
    if (late?.wasHanded === true && late.job.key !== undefined) this.keyed.putOff(late.job.type, late.job.key, -1);
    this.armTimer();
    return found === undefined || !('job' in found) ? found : found.job;
  }

  /**
   * Hands out the next job that is due. To be called after `promote`.
   *
   * @param left Of some types, how many jobs may be handed out still; counted down. What may not waits aside, where it holds up nobody.
   */
  shift(left: Map<string, number>): NewJob | WaitingJob | undefined {
    return this.shiftAside(left) ?? this.shiftDue(left);
  }

  /** Hands out the next job of this type that has a key, of which none runs. To be called after `promote`. */
  shiftKeyed(type: string): NewJob | WaitingJob | undefined {
    for (;;) {
      const next = this.keyed.shift(type);
      if (next === undefined || !('job' in next)) return next;
      const current = this.current(next);
      if (current !== undefined) return current;
      this.keyEnded(next.job);
    }
  }

  /** The job with a key that ran has ended. */
  keyEnded({ type, key }: NewJob): void {
    if (key !== undefined) this.keyed.ended(type, key);
  }

  private shiftAside(left: Map<string, number>): NewJob | WaitingJob | undefined {
    for (const [type, lane] of this.aside) {
      if (left.get(type) === 0 || this.separate.has(type)) continue;
      const next = this.nextOf(lane);
      if (next === undefined) continue;
      countDown(left, type);
      return next;
    }
    return undefined;
  }

  private shiftDue(left: Map<string, number>): NewJob | WaitingJob | undefined {
    for (;;) {
      const next = this.nextOf(this.due);
      if (next === undefined) return undefined;
      const { type } = jobOf(next);
      if (left.get(type) !== 0) {
        countDown(left, type);
        return next;
      }
      this.asideOf(type).push(next, jobOf(next).priority);
    }
  }

  private asideOf(type: string): Lanes<NewJob | WaitingJob> {
    const lane = this.aside.get(type) ?? new Lanes<NewJob | WaitingJob>();
    this.aside.set(type, lane);
    return lane;
  }

  private nextOf(lanes: Lanes<NewJob | WaitingJob>): NewJob | WaitingJob | undefined {
    for (;;) {
      const next = lanes.shift();
      if (next === undefined || !('job' in next)) return next;
      const current = this.current(next);
      if (current !== undefined) return current;
    }
  }

  /** Lines up what has become due. */
  promote(): void {
    const { clock } = this.parts;
    const now = clock.monotonic();
    for (let next = this.later.peek(); next !== undefined && next.dueAt <= now; next = this.later.peek()) {
      this.later.pop();
      const { job, attempts } = next.replacement ?? next;
      // A moment may have moved away meanwhile: the time of day was set back.
      const earlyMs = attempts > 0 || next.isGone === true ? 0 : (job.runAt ?? 0) - clock.now();
      if (earlyMs > 0) this.putOff(next.replacement ?? next, now + earlyMs);
      else this.pushDue(next);
    }
    this.armTimer();
  }

  clear(): void {
    this.aside.clear();
    this.keyed.clear();
    this.due.clear();
    this.later.clear();
    this.gone = 0;
    this.stopTimer();
  }

  stopTimer(): void {
    this.timer?.stop();
    this.timer = undefined;
  }

  private get asideSize(): number {
    let size = 0;
    for (const lane of this.aside.values()) size += lane.size;
    return size;
  }

  private removeAside(isMeant: (item: NewJob | WaitingJob) => boolean): NewJob | WaitingJob | undefined {
    for (const lane of this.aside.values()) {
      const found = lane.remove(isMeant);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What has become of an entry that was due: nothing where it is not due any more. */
  private current(entry: WaitingJob): WaitingJob | undefined {
    const { replacement } = entry;
    if (entry.isGone === true) {
      this.gone -= 1;
      return undefined;
    }
    if (replacement === undefined || replacement.dueAt <= this.parts.clock.monotonic()) return replacement ?? entry;
    this.pushLater(replacement);
    this.parts.onMoved(replacement);
    return undefined;
  }

  private putOff(entry: WaitingJob, dueAt: number): void {
    const later = { ...entry, dueAt };
    this.later.push(later);
    this.parts.onMoved(later);
  }

  private armTimer(): void {
    const next = this.later.peek();
    if (next?.dueAt === this.timer?.at) return;
    this.stopTimer();
    if (next === undefined) return;
    const fire = (): void => {
      this.timer = undefined;
      this.parts.onDue();
    };
    const { clock } = this.parts;
    const delayMs = next.dueAt - clock.monotonic();
    this.timer = { at: next.dueAt, stop: clock.startTimer?.(delayMs, fire) ?? startTimer(delayMs, fire) };
  }
}

function meant(id: string): (item: NewJob | WaitingJob) => boolean {
  return (item) => ('job' in item ? item.job.id === id && item.isGone !== true : item.id === id);
}

function jobOf(item: NewJob | WaitingJob): NewJob {
  return 'job' in item ? item.job : item;
}

function countDown(left: Map<string, number>, type: string): void {
  const more = left.get(type);
  if (more !== undefined) left.set(type, more - 1);
}
