import type { ScheduleRecord } from '../admin/schedule-record.js';
import { toScheduleRecord } from '../admin/schedule-record.js';
import { checkInteger } from '../model/check.js';
import { DeclaredScheduleError, UnknownScheduleError } from '../model/errors.js';
import type { QueueKind } from '../model/job-event.js';
import type { JobType } from '../model/job-payloads.js';
import type { NewJob } from '../model/job.js';
import { checkScheduleName } from '../model/schedule.js';
import {
  resolveDeclared,
  resolveSchedule,
  type DeclaredScheduleOptions,
  type ScheduleOptions,
  type SchedulePlace,
} from '../model/schedule-options.js';
import type { CronTimes } from '../runtime/cron-times.js';
import type { DeclaredSchedules } from '../runtime/declared-schedules.js';
import type { ScheduleStore, StoredSchedule } from '../stores/schedule-store.js';

export interface JobSchedulesParts {
  readonly queue: QueueKind;
  readonly maxPayloadSize: number;
  readonly times: CronTimes;
  readonly declared: DeclaredSchedules;
  readonly store: () => Promise<ScheduleStore>;
  readonly makeJob: (schedule: StoredSchedule, slot: number) => Promise<NewJob>;
  /** Called when something has changed that the scheduler of this process should see at once. */
  readonly onChange: () => void;
  /** See `Scheduler.lookOnce`. */
  readonly lookOnce: (watchedFrom: number) => Promise<void>;
}

const mostRuns = 1_000;

/**
 * The schedules of one queue: those that stand in its code, and those made at run time. Yours is `queue.schedules`. Of a persistent queue
 * they stand in the database: every process sees a change within its poll interval, and each slot fires once over all of them.
 *
 * Methods throw a StoreError when the database refuses or does not answer, and a MissingPackageError where `cron` is not installed.
 */
export class JobSchedules {
  /** For the queue. */
  constructor(private readonly parts: JobSchedulesParts) {}

  /**
   * Says that this schedule stands in the code, as `@JobSchedule` does; to be called before the queue starts. The process that was started last
   * wins. One that no code declares any more is deleted when the next process starts.
   *
   * @param options Its payload may be a function, which is called for each slot.
   * @param source Where it stands, for messages. Default: its name.
   * @throws InvalidOptionError | InvalidJobTypeError | InvalidPayloadError | DuplicateScheduleError. An impossible `cron` or `timeZone` fails the
   *   start of the queue.
   */
  declare<T extends JobType>(
    name: string,
    options: DeclaredScheduleOptions<T>,
    source = `the schedule '${name}'`,
  ): void {
    this.parts.declared.add(resolveDeclared(name, options, this.place(source)));
    this.parts.onChange();
  }

  /**
   * Makes a schedule, or changes the one of this name. With another `cron` or `timeZone` it begins now; otherwise no slot is lost or fires
   * twice. A pause stays.
   *
   * @throws InvalidOptionError | InvalidJobTypeError | InvalidPayloadError; DeclaredScheduleError for one that stands in code.
   */
  async set<T extends JobType>(name: string, options: ScheduleOptions<T>): Promise<void> {
    const source = `the schedule '${name}'`;
    const definition = resolveSchedule(name, options, this.place(source));
    await this.parts.times.seriesOf(definition, source);
    const store = await this.parts.store();
    refuseDeclared('changed', await findIn(store, name));
    await store.set(definition);
    this.parts.onChange();
  }

  /** Lets no process fire it until `resume`, deploys included. Says whether it was not paused before. */
  async pause(name: string): Promise<boolean> {
    return (await this.parts.store()).pause(checkScheduleName('name', name));
  }

  /** Lets it go on with its next slot: those of the pause do not count as missed. Says whether it was paused. */
  async resume(name: string): Promise<boolean> {
    const isResumed = await (await this.parts.store()).resume(checkScheduleName('name', name));
    this.parts.onChange();
    return isResumed;
  }

  /** Deletes a schedule that was made at run time; its jobs stay. Says whether there was one. @throws DeclaredScheduleError for one that stands in code. */
  async remove(name: string): Promise<boolean> {
    const store = await this.parts.store();
    refuseDeclared('removed', await findIn(store, checkScheduleName('name', name)));
    const isRemoved = await store.remove(name);
    this.parts.onChange();
    return isRemoved;
  }

  /** All of them, in the order of their names. */
  async list(): Promise<readonly ScheduleRecord[]> {
    const { schedules } = await (await this.parts.store()).look();
    return Promise.all(schedules.map((schedule) => toScheduleRecord(schedule, this.parts.times)));
  }

  /** One of them, or `undefined`. */
  async find(name: string): Promise<ScheduleRecord | undefined> {
    const schedule = await findIn(await this.parts.store(), checkScheduleName('name', name));
    return schedule === undefined ? undefined : toScheduleRecord(schedule, this.parts.times);
  }

  /**
   * When it will fire, were it not paused: its next slots, as far as they lie within eight years.
   *
   * @param count How many, 1 to 1 000. Default 5.
   * @throws UnknownScheduleError | InvalidOptionError
   */
  async nextRuns(name: string, count = 5): Promise<readonly Date[]> {
    checkInteger('count', count, 1, mostRuns);
    const { now, schedules } = await (await this.parts.store()).look();
    const schedule = known(name, schedules);
    const series = await this.parts.times.seriesOf(schedule, `the schedule '${name}'`);
    const runs: Date[] = [];
    let slot = series.next(Math.max(now, schedule.doneUntil));
    for (; slot !== undefined && runs.length < count; slot = series.next(slot)) runs.push(new Date(slot));
    return runs;
  }

  /**
   * Enqueues one of its jobs now, beside its slots, also while it is paused or its last job runs. Resolves to the id of the job.
   *
   * @throws UnknownScheduleError; DeclaredScheduleError where a function makes its payload that is in the code of other processes only;
   *   whatever that function throws.
   */
  async runNow(name: string): Promise<string> {
    const store = await this.parts.store();
    const { now, schedules } = await store.look();
    const schedule = known(name, schedules);
    const id = await store.runNow(schedule, await this.parts.makeJob(schedule, now));
    if (id === undefined) throw unknown(name);
    return id;
  }

  /** Declares what is new and fires what is due, without the queue being started. For tests. @internal */
  lookOnce(watchedFrom: number): Promise<void> {
    return this.parts.lookOnce(watchedFrom);
  }

  private place(source: string): SchedulePlace {
    const { queue, maxPayloadSize } = this.parts;
    return { source, queue, maxPayloadSize };
  }
}

async function findIn(store: ScheduleStore, name: string): Promise<StoredSchedule | undefined> {
  return (await store.look()).schedules.find((schedule) => schedule.name === name);
}

function known(name: string, schedules: readonly StoredSchedule[]): StoredSchedule {
  const schedule = schedules.find((each) => each.name === checkScheduleName('name', name));
  if (schedule === undefined) throw unknown(name);
  return schedule;
}

function unknown(name: string): UnknownScheduleError {
  return new UnknownScheduleError(`there is no schedule '${name}'; list() says which there are`);
}

function refuseDeclared(what: string, schedule: StoredSchedule | undefined): void {
  if (schedule?.source !== 'code') return;
  throw new DeclaredScheduleError(
    `the schedule '${schedule.name}' stands in code and can only be ${what} there; pause it to stop it until you do`,
  );
}
