import { DeclaredScheduleError } from '../model/errors.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { Clock } from '../model/clock.js';
import type { QueueKind } from '../model/job-event.js';
import type { NewJob } from '../model/job.js';
import { decodePayload } from '../model/payload.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import type { LogSink } from '../observe/job-log.js';
import { CronTimes } from '../runtime/cron-times.js';
import { withDeadline } from '../runtime/deadline.js';
import { DeclaredSchedules } from '../runtime/declared-schedules.js';
import { Scheduler } from '../runtime/scheduler.js';
import { MemorySchedules, type MemorySchedulesParts } from '../stores/memory/memory-schedules.js';
import type { ScheduleStore, StoredSchedule } from '../stores/schedule-store.js';
import type { Enqueuer } from './enqueuer.js';
import { JobSchedules } from './job-schedules.js';
import { graceMs, type QueueParts } from './queue-parts.js';
import type { StoreDoor } from './store-door.js';

export interface SchedulingParts {
  readonly queue: QueueKind;
  readonly store: () => Promise<ScheduleStore>;
  readonly maxPayloadSize: number;
  readonly knownTypes: () => readonly string[];
  /** Makes and checks a job of the queue. */
  readonly makeJob: (type: string, payload: unknown, options: unknown) => NewJob | Promise<NewJob>;
  readonly clock: Clock;
  readonly sink: Pick<LogSink, 'warn'>;
  readonly pollMs: number;
  readonly keepAlive: 'ref' | 'unref';
  readonly onSchedules: QueueParts['onSchedules'];
  /** Whether the store is known not to answer. */
  readonly isOut?: () => boolean;
}

/** The schedules of one queue and what turns them, from each start of the queue to its stop. */
export class Scheduling {
  readonly schedules: JobSchedules;
  private readonly times = new CronTimes();
  private readonly declared = new DeclaredSchedules();
  private readonly scheduler: Scheduler;

  constructor(private readonly parts: SchedulingParts) {
    const { queue, store, maxPayloadSize, knownTypes, clock, sink, pollMs, keepAlive, isOut } = parts;
    const { times, declared } = this;
    const makeJob = (schedule: StoredSchedule, slot: number): Promise<NewJob> => this.makeJob(schedule, slot);
    const onChange = (): void => this.scheduler.wake();
    const lookOnce = (watchedFrom: number): Promise<void> => this.scheduler.lookOnce(watchedFrom);
    this.schedules = new JobSchedules({ queue, maxPayloadSize, times, declared, store, makeJob, onChange, lookOnce });
    const warn = (message: string): void => sink.warn(message);
    const onLook = (schedules: readonly StoredSchedule[]): void => parts.onSchedules?.(schedules);
    const shared = { store, times, declared, knownTypes, makeJob, clock, pollMs, keepAlive, warn, isOut, onLook };
    this.scheduler = new Scheduler(shared);
  }

  /** Reads the times of all schedules that stand in the code. @throws InvalidOptionError | MissingPackageError */
  async prepare(): Promise<void> {
    for (const schedule of this.declared.all()) await this.times.seriesOf(schedule, schedule.source);
  }

  start(): void {
    this.scheduler.start();
  }

  /** Takes no slot any more. What is under way is waited for, unless the store does not answer. */
  async stop(): Promise<void> {
    await withDeadline(this.scheduler.stop(), graceMs).catch(() => undefined);
    this.parts.onSchedules?.([]);
  }

  private async makeJob(schedule: StoredSchedule, slot: number): Promise<NewJob> {
    const { type, options } = schedule;
    return this.parts.makeJob(type, this.payloadOf(schedule, slot), options);
  }

  private payloadOf({ name, payload, fingerprint }: StoredSchedule, slot: number): unknown {
    if (payload !== undefined) return decodePayload(payload);
    const own = this.declared.get(name);
    if (own?.makePayload === undefined || own.fingerprint !== fingerprint) {
      throw new DeclaredScheduleError(
        `a function makes the payload of the schedule '${name}', and it is not in the code of this process, or is another one here`,
      );
    }
    return own.makePayload(new Date(slot));
  }
}

interface PersistentParts extends Pick<SchedulingParts, 'clock' | 'sink' | 'onSchedules' | 'isOut'> {
  readonly options: Pick<ResolvedPersistentOptions, 'maxPayloadSize' | 'pollInterval'>;
  readonly handlers: HandlerRegistry;
  readonly door: StoreDoor;
  readonly enqueuer: Enqueuer;
}

/** The schedules of a persistent queue. */
export function persistentScheduling({ options, handlers, door, enqueuer, ...shared }: PersistentParts): Scheduling {
  return new Scheduling({
    ...shared,
    queue: 'persistent',
    store: async () => (await door.ready()).store.schedules,
    maxPayloadSize: options.maxPayloadSize,
    knownTypes: () => handlers.types(),
    makeJob: (type, payload, given) => enqueuer.make(type, payload, given),
    pollMs: options.pollInterval,
    keepAlive: 'ref',
  });
}

type MemoryParts = Omit<SchedulingParts, 'queue' | 'store' | 'pollMs' | 'keepAlive'> &
  Omit<MemorySchedulesParts, 'clock'>;

/** The schedules of a memory queue. Nobody else changes them, so there is nothing to poll for. */
export function memoryScheduling({ add, holds, ...parts }: MemoryParts): Scheduling {
  const store = new MemorySchedules({ clock: parts.clock, add, holds });
  return new Scheduling({
    ...parts,
    queue: 'memory',
    store: () => Promise.resolve(store),
    pollMs: Infinity,
    keepAlive: 'ref',
  });
}
