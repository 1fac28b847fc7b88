import type { MisfirePolicy, OverlapPolicy, ScheduleSource } from '../model/schedule.js';
import type { CronTimes } from '../runtime/cron-times.js';
import type { StoredSchedule } from '../stores/schedule-store.js';

/** A schedule as it stands. */
export interface ScheduleRecord {
  readonly name: string;
  /** The type of its jobs. */
  readonly type: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly misfire: MisfirePolicy;
  readonly overlap: OverlapPolicy;
  /** Whether it stands in code, or was made at run time. */
  readonly source: ScheduleSource;
  readonly isPaused: boolean;
  /** Its next slot; undefined while it is paused, and where this process cannot tell, since `cron` is not installed here. */
  readonly nextRun: Date | undefined;
  /** The newest slot that got a job. */
  readonly lastSlot: Date | undefined;
  /** The last job that was made for it. It may be over and gone. */
  readonly lastJobId: string | undefined;
  /** Slots that were passed over because the job of the one before was not over. */
  readonly skipped: number;
}

export async function toScheduleRecord(schedule: StoredSchedule, times: CronTimes): Promise<ScheduleRecord> {
  const { name, type, cron, timeZone, misfire, overlap, source, isPaused, lastSlot, lastJobId, skipped } = schedule;
  return {
    name,
    type,
    cron,
    timeZone,
    misfire,
    overlap,
    source,
    isPaused,
    nextRun: isPaused ? undefined : await nextRunOf(schedule, times),
    lastSlot: lastSlot === undefined ? undefined : new Date(lastSlot),
    lastJobId,
    skipped,
  };
}

/** A list is shown as well where one of its schedules cannot be read. */
async function nextRunOf(schedule: StoredSchedule, times: CronTimes): Promise<Date | undefined> {
  try {
    const series = await times.seriesOf(schedule, `the schedule '${schedule.name}'`);
    const slot = series.next(schedule.doneUntil);
    return slot === undefined ? undefined : new Date(slot);
  } catch {
    return undefined;
  }
}
