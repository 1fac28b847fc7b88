import { checkKnownKeys, checkOneOf } from '../model/check.js';
import { checkInstanceName } from '../model/instance-name.js';
import type { QueueKind } from '../model/job-event.js';
import type { JobType } from '../model/job-payloads.js';
import { checkJobType } from '../model/job-type.js';
import { checkScheduleName } from '../model/schedule.js';
import { resolveDeclared, ruleKeys, type MadePayload, type ScheduleRules } from '../model/schedule-options.js';
import { checkDecorated } from './decorated-method.js';
import type { MethodName } from './method-marks.js';
import { scheduleMarks, type ScheduleMark } from './schedule-metadata.js';

/** How a schedule fires, and what its jobs are like. */
export type JobScheduleOptions<T extends string = string> = MethodScheduleRules<T> & MadePayload<T>;

interface MethodScheduleRules<T extends string> extends ScheduleRules {
  /** Names it in the database, for good; needed where a job type has several schedules. Default: the job type. */
  name?: string;
  /**
   * Which of the job types of the method; the compiler checks the payload where it stands here. Default: the type of its one
   * `@JobHandler`.
   */
  type?: T;
  /** Whether it is as if it did not stand there, as for an environment that should not have it. Default false. */
  disabled?: boolean;
  /** The queue whose jobs it makes. Default: the persistent one where there is one. */
  on?: QueueKind;
  /** The name of the one `JobsModule` whose schedule it is. Default: that of the `@JobHandler`, else the one without a name. */
  instance?: string;
}

const ownKeys = ['name', 'type', 'disabled', 'on', 'instance'];
/** Whoever has the queue knows the real limit. */
const largestPayload = 1_073_741_824;

/**
 * Runs the jobs of a method with `@JobHandler` again and again: one job for each moment that the cron expression names, however many
 * processes there are. A method may carry several of these, each with a name of its own.
 *
 * Needs `@nestjs/schedule`, whose cron library reads the expression. It has five fields (minute, hour, day of month, month, day of week), or
 * six with the seconds in front.
 *
 * @throws InvalidOptionError, InvalidHandlerError or InvalidPayloadError while the class is being defined; an expression that cannot be read
 *   or never comes true, and an unknown time zone, fail the start of the app.
 */
export function JobSchedule<T extends JobType = string>(cron: string, options?: JobScheduleOptions<T>) {
  return (target: object, method: MethodName, descriptor: PropertyDescriptor): void => {
    const source = checkDecorated('@JobSchedule', { target, method, descriptor });
    const mark = makeMark(`@JobSchedule on ${source}`, cron, options ?? {});
    if (mark !== undefined) scheduleMarks.add(target, method, mark);
  };
}

function makeMark(source: string, cron: unknown, options: unknown): ScheduleMark | undefined {
  const given = checkKnownKeys(`${source}: options`, options, [...ruleKeys, ...ownKeys]);
  const read = <V>(key: string, check: (name: string, value: unknown) => V): V | undefined =>
    given[key] === undefined ? undefined : check(`${source}: ${key}`, given[key]);
  const rules = Object.fromEntries(Object.entries(given).filter(([key]) => ruleKeys.includes(key)));
  const mark = {
    name: read('name', checkScheduleName),
    type: read('type', (_name, value) => checkJobType(value)),
    options: { ...rules, cron } as ScheduleMark['options'],
    on: read('on', (name, value) => checkOneOf(name, value, ['persistent', 'memory'] as const)),
    instance: read('instance', checkInstanceName),
  };
  const type = mark.type ?? 'any';
  resolveDeclared(
    mark.name ?? type,
    { ...mark.options, type },
    { source, queue: mark.on ?? 'persistent', maxPayloadSize: largestPayload },
  );
  const isDisabled = read('disabled', (name, value) => checkOneOf(name, value, [true, false] as const));
  return isDisabled === true ? undefined : mark;
}
