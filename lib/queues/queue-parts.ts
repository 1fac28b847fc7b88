import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import { InvalidOptionError } from '../model/errors.js';
import type { NewJob } from '../model/job.js';
import { defaultInstanceName } from '../model/instance-name.js';
import type { QueueKind } from '../model/job-event.js';
import { JobEventPublisher } from '../observe/job-event-publisher.js';
import { jobsLogger, type LogSink } from '../observe/job-log.js';
import type { AdministeredStore } from '../stores/job-store.js';
import type { ScheduleDefinition } from '../model/schedule.js';

/** When a schedule fires. */
export type ScheduleTimes = Pick<ScheduleDefinition, 'name' | 'cron' | 'timeZone'>;

/** What a queue can be given from outside; what is left out it makes for itself. */
export interface QueueParts {
  readonly registry?: HandlerRegistry | undefined;
  readonly events?: JobEvents | undefined;
  /** The name of the `JobsModule`, for events. Default 'default'. */
  readonly instance?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Where log lines go. Default: Nest's `Logger` under the context `Jobs`. */
  readonly sink?: LogSink | undefined;
  /** Called before each claim and each submit by type, so that handlers which turned up meanwhile can be registered. */
  readonly beforeClaim?: (() => void) | undefined;
  /** Called with the schedules that this process sees, whenever it has looked at them, and with none when it stops. */
  readonly onSchedules?: ((schedules: readonly ScheduleTimes[]) => void) | undefined;
  /** Hears of jobs that the memory queue has taken. */
  readonly onSubmitted?: ((job: NewJob) => void) | undefined;
  /** Whether the memory queue starts by itself. Default true. */
  readonly autoStart?: boolean | undefined;
}

/** What a persistent queue is made of. */
export interface PersistentQueueParts extends QueueParts {
  /** Makes the store once its DataSource is there; called again after it has failed. */
  readonly openStore: () => Promise<AdministeredStore>;
}

/** @throws InvalidOptionError where somebody makes the queue by hand */
export function checkParts(parts: unknown): void {
  if (typeof parts === 'object' && parts !== null && 'openStore' in parts) return;
  throw new InvalidOptionError(
    'a PersistentJobQueue is not made by new: inject the one of the JobsModule, or write await PersistentJobQueue.create(dataSource, options)',
  );
}

/** How long aborted handlers get to end before they are abandoned, milliseconds. */
export const graceMs = 300;

/** Tells of the events of one queue. */
export function publisherOf(queue: QueueKind, events: JobEvents, { instance, sink }: QueueParts): JobEventPublisher {
  return new JobEventPublisher(events, { queue, instance: instance ?? defaultInstanceName }, sink ?? jobsLogger());
}
