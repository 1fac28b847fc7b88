import type { ModulesContainer } from '@nestjs/core';
import { describeError } from './model/failure.js';
import type { LogSink } from './observe/job-log.js';
import type { ScheduleTimes } from './queues/queue-parts.js';
import { CronTimes } from './runtime/cron-times.js';

/** What is asked of the SchedulerRegistry of `@nestjs/schedule`, which is not imported: the app may do without it. */
interface Registry {
  doesExist(type: 'cron', name: string): boolean;
  addCronJob(name: string, job: object): void;
  getCronJob(name: string): object;
  deleteCronJob(name: string): void;
}

interface Shown {
  readonly job: object;
  readonly key: string;
}

/**
 * Shows the schedules of one queue in the app's SchedulerRegistry, where it has one: by `ScheduleModule.forRoot()`. They are there to be
 * looked at. The CronJobs are never started, and nothing depends on them: Nest empties the registry while jobs still run.
 */
export class SchedulerRegistryMirror {
  private readonly times = new CronTimes();
  private readonly shown = new Map<string, Shown>();
  private wanted = '';
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly sink: Pick<LogSink, 'warn'>,
  ) {}

  /** To be called after each look at them: costs nothing when nothing has changed. */
  show(schedules: readonly ScheduleTimes[]): void {
    const wanted = schedules.map((schedule) => `${schedule.name}\n${keyOf(schedule)}`).join('\n');
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.work = this.work
      .then(() => this.update(schedules))
      .catch((error: unknown) => {
        this.sink.warn(`could not show the schedules in the SchedulerRegistry: ${describeError(error)}`);
      });
  }

  private async update(schedules: readonly ScheduleTimes[]): Promise<void> {
    const registry = findRegistry(this.modules);
    if (registry === undefined) return;
    const keys = new Map(schedules.map((schedule) => [schedule.name, keyOf(schedule)]));
    for (const [name, shown] of this.shown) if (keys.get(name) !== shown.key) this.hide(registry, name, shown);
    for (const schedule of schedules) {
      const { name } = schedule;
      // A name that is taken is one of the app's own @Cron.
      if (this.shown.has(name) || registry.doesExist('cron', name)) continue;
      const job = await this.times.showcase(schedule);
      registry.addCronJob(name, job);
      this.shown.set(name, { job, key: keyOf(schedule) });
    }
  }

  private hide(registry: Registry, name: string, { job }: Shown): void {
    this.shown.delete(name);
    if (registry.doesExist('cron', name) && registry.getCronJob(name) === job) registry.deleteCronJob(name);
  }
}

function keyOf({ cron, timeZone }: ScheduleTimes): string {
  return `${cron} ${timeZone}`;
}

/** By the name of its class, since an app may hold several copies of the package. */
function findRegistry(modules: ModulesContainer): Registry | undefined {
  return [...modules.values()]
    .filter(({ metatype }) => metatype.name === 'ScheduleModule')
    .flatMap(({ providers }) => [...providers.values()])
    .map(({ instance }): unknown => instance)
    .find(isRegistry);
}

function isRegistry(value: unknown): value is Registry {
  const methods = ['doesExist', 'addCronJob', 'getCronJob', 'deleteCronJob'];
  const has = (name: string): boolean => typeof Reflect.get(Object(value), name) === 'function';
  return typeof value === 'object' && value !== null && methods.every(has);
}
