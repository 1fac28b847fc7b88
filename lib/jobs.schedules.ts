import type { ModulesContainer } from '@nestjs/core';
import { ScheduleExplorer, type FoundSchedule } from './handlers/schedule-explorer.js';
import { JobsRegistrations } from './jobs.registrations.js';
import { InvalidOptionError } from './model/errors.js';
import { describeError } from './model/failure.js';
import type { QueueKind } from './model/job-event.js';
import type { LogSink } from './observe/job-log.js';
import type { JobSchedules } from './queues/job-schedules.js';
import { CronTimes } from './runtime/cron-times.js';

/** The queues of one `JobsModule`, as far as they have schedules: not where one is switched off, or replaced by a test double. */
export interface ScheduledQueues {
  readonly isPersistent: boolean;
  schedulesOf(queue: QueueKind): JobSchedules | undefined;
}

interface Surroundings {
  readonly modules: ModulesContainer;
  /** The name of the `JobsModule`. */
  readonly instance: string;
  readonly sink: LogSink;
}

/** Brings the schedules that decorators declare to the queues of one `JobsModule`. */
export class ModuleSchedules {
  readonly explorer: ScheduleExplorer;
  private queues: ScheduledQueues | undefined;

  /** To be constructed while Nest makes the providers. */
  constructor(private readonly surroundings: Surroundings) {
    const { modules, instance, sink } = surroundings;
    const onRefused = (error: unknown): void => sink.error(describeError(error));
    this.explorer = new ScheduleExplorer({
      modules,
      isOurs: (name) => instance === (name ?? new JobsRegistrations(modules).main()),
      onFound: (schedules) => void this.declare(schedules).catch(onRefused),
      onRefused,
    });
  }

  /**
   * Declares all that there are. To be called before the queues start.
   *
   * @throws InvalidOptionError | InvalidHandlerError | DuplicateScheduleError | MissingPackageError
   */
  async discover(queues: ScheduledQueues): Promise<void> {
    this.queues = queues;
    const found = this.explorer.explore();
    new JobsRegistrations(this.surroundings.modules).refuseUnknownInstances(
      '@JobSchedule',
      this.explorer.boundInstances(),
    );
    await this.declare(found);
  }

  private async declare(found: readonly FoundSchedule[]): Promise<void> {
    const { queues } = this;
    if (queues === undefined || found.length === 0) return;
    const times = new CronTimes();
    for (const { options, source } of found) {
      await times.seriesOf({ cron: options.cron, timeZone: options.timeZone ?? 'UTC' }, source);
    }
    for (const schedule of found) declareOne(schedule, queues);
    this.log(found);
  }

  private log(found: readonly FoundSchedule[]): void {
    const list = found.map(({ name, options: { cron, timeZone = 'UTC' } }) => `'${name}' (${cron}, ${timeZone})`);
    this.surroundings.sink.log(`${found.length} schedule${found.length === 1 ? '' : 's'}: ${list.join(', ')}`);
  }
}

function declareOne({ name, on, options, source }: FoundSchedule, queues: ScheduledQueues): void {
  if (on === 'persistent' && !queues.isPersistent) {
    throw new InvalidOptionError(
      `${source}: on is 'persistent', but JobsModule has persistent: false; leave on out, or make it 'memory'`,
    );
  }
  queues.schedulesOf(on ?? (queues.isPersistent ? 'persistent' : 'memory'))?.declare(name, options, source);
}
