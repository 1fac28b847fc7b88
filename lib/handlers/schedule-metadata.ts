import type { QueueKind } from '../model/job-event.js';
import type { DeclaredScheduleOptions } from '../model/schedule-options.js';
import { MethodMarks } from './method-marks.js';

/** What one `@JobSchedule` says of its method. */
export interface ScheduleMark {
  /** `undefined` means the job type. */
  readonly name: string | undefined;
  /** `undefined` means that of the one `@JobHandler` beside it. */
  readonly type: string | undefined;
  readonly options: Omit<DeclaredScheduleOptions, 'type'>;
  /** `undefined` means the persistent queue where there is one. */
  readonly on: QueueKind | undefined;
  /** The only `JobsModule` whose schedule it is; `undefined` means that of the handler, else the default one. */
  readonly instance: string | undefined;
}

export const scheduleMarks = new MethodMarks<ScheduleMark>('schedules');
