import type { Clock } from '../model/clock.js';
import { dueSlots } from '../model/due-slots.js';
import { StoreError } from '../model/errors.js';
import { describeError } from '../model/failure.js';
import type { NewJob } from '../model/job.js';
import type { SlotSeries } from '../model/zoned-slots.js';
import type { ScheduleLook, ScheduleStore, StoredSchedule } from '../stores/schedule-store.js';
import type { CronTimes } from './cron-times.js';
import { withDeadline } from './deadline.js';
import type { DeclaredSchedules } from './declared-schedules.js';
import { Loop } from './loop.js';
import { ScheduleDeclarer } from './schedule-declarer.js';

export interface SchedulerParts {
  readonly store: () => Promise<ScheduleStore>;
  readonly times: CronTimes;
  readonly declared: DeclaredSchedules;
  /** The job types that this process can run; it turns the schedules of these. */
  readonly knownTypes: () => readonly string[];
  /** Makes the job of a slot. What it throws is reported, and tried again. */
  readonly makeJob: (schedule: StoredSchedule, slot: number) => Promise<NewJob>;
  readonly clock: Clock;
  readonly pollMs: number;
  /** Hears of what went wrong with one schedule, once for each slot. */
  readonly warn: (message: string) => void;
  /** Whether the store is known not to answer, which is told elsewhere. */
  readonly isOut?: (() => boolean) | undefined;
  /** Called with all schedules after each look. */
  readonly onLook: (schedules: readonly StoredSchedule[]) => void;
  readonly keepAlive: 'ref' | 'unref';
}

const answerMs = 30_000;
/** Later than this after its rest, and the process has stood still: nobody has watched. */
const longestStallMs = 3_000;
const failureRestMs = 1_000;
const failuresToReport = 30;
/** Somebody may make the first one at run time, in another process. */
const pollsWithoutSchedules = 30;
/** Clocks are set and machines sleep, so nobody relies on one long timer. */
const longestRestMs = 60_000;
/** A schedule whose job could not be made is tried again after this, in milliseconds. */
const faultRestMs = 5_000;

/** What one look found. */
interface Look extends ScheduleLook {
  readonly store: ScheduleStore;
  readonly watchedFrom: number | undefined;
  /** On the monotonic clock. */
  readonly lookedAt: number;
}

/**
 * Turns due slots of schedules into jobs. Any number of processes do so at the same time: all see the same slots, and the store gives each to
 * one of them. It rests until the next slot, and no longer than a poll, so that changes are seen; an outage only makes it late.
 */
export class Scheduler {
  private loop: Loop | undefined;
  private readonly declarer: ScheduleDeclarer;
  /** The look before, and how long the rest after it was to be. */
  private lastLook: { readonly now: number; readonly restMs: number } | undefined;
  private isStopping = false;
  /** In a row. */
  private failures = 0;
  /** Of each schedule the slot that comes next, for as long as nothing has changed. */
  private readonly nextSlots = new Map<string, { readonly key: string; readonly slot: number }>();
  /** Of each schedule that others have a start for, since when it stands as it does. */
  private readonly seenSince = new Map<string, { readonly key: string; readonly at: number }>();
  private readonly faults = new Map<string, { readonly key: string; readonly until: number }>();

  constructor(private readonly parts: SchedulerParts) {
    this.declarer = new ScheduleDeclarer(parts);
  }

  start(): void {
    this.lastLook = undefined;
    this.isStopping = false;
    // Of a stop that was not waited for, the loop before may still be in its last turn.
    this.loop = new Loop(() => this.turn(), this.parts.keepAlive);
    this.loop.start();
  }

  wake(): void {
    this.loop?.wake();
  }

  /** Takes one look without the loop. @param watchedFrom Since when somebody has watched, by the store's clock. */
  async lookOnce(watchedFrom: number): Promise<void> {
    this.lastLook = { now: watchedFrom, restMs: Infinity };
    await this.turn();
  }

  /** Lets the turn under way finish, without another slot. Throws what the store throws when it is told. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const { loop } = this;
    if (loop === undefined) return;
    this.loop = undefined;
    await loop.stop();
    await this.declarer.leave(await this.parts.store());
  }

  private async turn(): Promise<number> {
    try {
      const store = await this.parts.store();
      await withDeadline(this.declarer.declareNew(store), answerMs);
      const look = await this.look(store);
      const rests = [this.pollMs(look)];
      for (const schedule of look.schedules) rests.push(await this.turnOne(schedule, look));
      await withDeadline(this.declarer.keepUp(store, look), answerMs);
      const restMs = Math.min(...rests);
      this.lastLook = { now: look.now, restMs };
      this.failures = 0;
      return restMs;
    } catch (error) {
      // Nobody watched, then. The worker meets an outage as well and reports it; what lasts without one is a matter of schedules alone.
      this.lastLook = undefined;
      this.failures = this.parts.isOut?.() === true ? 0 : this.failures + 1;
      if (this.failures === failuresToReport) {
        this.parts.warn(`schedules cannot be looked at, trying again until they can: ${describeError(error)}`);
      }
      return Math.max(this.parts.pollMs, failureRestMs);
    }
  }

  /** Where there are no schedules at all, a process should cost next to nothing. */
  private pollMs({ schedules }: Look): number {
    const { pollMs } = this.parts;
    return schedules.length === 0 ? pollMs * pollsWithoutSchedules : Math.min(pollMs, longestRestMs);
  }

  private async look(store: ScheduleStore): Promise<Look> {
    const found = await withDeadline(store.look(), answerMs);
    const { now, restMs } = this.lastLook ?? { now: -Infinity, restMs: 0 };
    const watchedFrom = found.now - now <= Math.max(0, restMs) + longestStallMs ? now : undefined;
    this.parts.onLook(found.schedules);
    return { ...found, store, watchedFrom, lookedAt: this.parts.clock.monotonic() };
  }

  /** Resolves to the milliseconds until this schedule wants to be looked at again. */
  private async turnOne(schedule: StoredSchedule, look: Look): Promise<number> {
    if (!this.isOurs(schedule)) return Infinity;
    const { clock } = this.parts;
    const fault = this.faults.get(schedule.name);
    const isSameFault = fault !== undefined && fault.key === keyOf(schedule);
    if (isSameFault && fault.until > clock.monotonic()) return fault.until - clock.monotonic();
    const heldMs = this.heldMs(schedule, look);
    if (heldMs > 0) return heldMs;
    try {
      const next = await this.fireDue(schedule, look);
      this.faults.delete(schedule.name);
      if (next === undefined) return Infinity;
      return next + this.declarer.delayMs(schedule) - look.now - (clock.monotonic() - look.lookedAt);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      if (!isSameFault) this.parts.warn(`the schedule '${schedule.name}' cannot fire now: ${describeError(error)}`);
      this.faults.set(schedule.name, { key: keyOf(schedule), until: clock.monotonic() + faultRestMs });
      return faultRestMs;
    }
  }

  private isOurs(schedule: StoredSchedule): boolean {
    if (schedule.isPaused || !this.parts.knownTypes().includes(schedule.type)) return false;
    return this.declarer.hasCodeOf(schedule);
  }

  /** How long missed slots are left to a process that has a start, after an outage and the like: there they are due for all at once. */
  private heldMs(schedule: StoredSchedule, { now, watchedFrom }: Look): number {
    const delayMs = this.declarer.delayMs(schedule);
    if (delayMs === 0) return 0;
    const seen = this.seenSince.get(schedule.name);
    const key = keyOf(schedule);
    const at = seen?.key === key && watchedFrom !== undefined ? seen.at : now;
    this.seenSince.set(schedule.name, { key, at });
    return Math.max(0, delayMs / 2 - (now - at));
  }

  /** Resolves to the slot that comes next. */
  private async fireDue(schedule: StoredSchedule, look: Look): Promise<number | undefined> {
    const delayMs = this.declarer.delayMs(schedule);
    const now = look.now - delayMs;
    const watchedFrom = look.watchedFrom === undefined ? undefined : look.watchedFrom - delayMs;
    const known = this.nextSlots.get(schedule.name);
    if (known?.key === keyOf(schedule) && known.slot > now) return known.slot;
    const series = await this.parts.times.seriesOf(schedule, `the schedule '${schedule.name}'`);
    const { doneUntil, misfire } = schedule;
    const due = dueSlots({ series, doneUntil, now, watchedFrom, misfire });
    await this.take(schedule, due.fire, look);
    if (due.fire.length === 0 && due.doneUntil > doneUntil) {
      await this.answered(look.store.pass({ schedule, from: doneUntil, to: due.doneUntil }, 'misfire'));
    }
    return this.remember(schedule, due.doneUntil, series);
  }

  /** Takes the slots one by one, until somebody else is faster. */
  private async take(schedule: StoredSchedule, slots: readonly number[], { store }: Look): Promise<void> {
    let from = schedule.doneUntil;
    let { isBusy } = schedule;
    for (const to of slots) {
      if (this.isStopping) return;
      const step = { schedule, from, to };
      const isSkipped = isBusy && schedule.overlap === 'skip';
      const isTaken = isSkipped
        ? await this.answered(store.pass(step, 'overlap'))
        : (await this.answered(store.fire(step, await this.parts.makeJob(schedule, to)))) !== undefined;
      if (!isTaken) return;
      isBusy = true;
      from = to;
    }
  }

  private remember(schedule: StoredSchedule, doneUntil: number, series: SlotSeries): number | undefined {
    const slot = series.next(doneUntil);
    if (slot !== undefined) this.nextSlots.set(schedule.name, { key: keyOf({ ...schedule, doneUntil }), slot });
    return slot;
  }

  private answered<T>(answer: Promise<T>): Promise<T> {
    return withDeadline(answer, answerMs);
  }
}

/** What the next slot of a schedule depends on. */
function keyOf({ fingerprint, doneUntil }: Pick<StoredSchedule, 'fingerprint' | 'doneUntil'>): string {
  return `${fingerprint} ${doneUntil}`;
}
