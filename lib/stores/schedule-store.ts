import type { NewJob } from '../model/job.js';
import type { ScheduleDefinition, ScheduleSource } from '../model/schedule.js';

/** A schedule as it stands in the store. */
export interface StoredSchedule extends ScheduleDefinition {
  readonly source: ScheduleSource;
  readonly isPaused: boolean;
  /** All slots up to here are decided about, epoch milliseconds. */
  readonly doneUntil: number;
  /** The newest slot that got a job. */
  readonly lastSlot: number | undefined;
  readonly lastJobId: string | undefined;
  /** Whether its last job is pending or running. */
  readonly isBusy: boolean;
  /** Slots that were passed over because the job of the one before was not over. */
  readonly skipped: number;
  /** The process that declared it last; of one made at run time, nobody. */
  readonly generation: string;
  /** When that process last said that it still runs. */
  readonly seenAt: number;
}

/** All schedules, and the moment of the look by the store's clock. */
export interface ScheduleLook {
  readonly now: number;
  readonly schedules: readonly StoredSchedule[];
}

export interface DeclareRequest {
  /** The name of the declaring process. Schedules that one process has declared were in one piece of code. */
  readonly generation: string;
  readonly schedules: readonly ScheduleDefinition[];
  /**
   * Whether these are all that the code has: others go that were declared together with one of these, or whose job type is among
   * `handledTypes`: the code had them once.
   */
  readonly scope: { readonly handledTypes: readonly string[] } | 'some';
}

/** A step from one slot to the next; it succeeds for one process alone. */
export interface SlotStep {
  readonly schedule: StoredSchedule;
  readonly from: number;
  readonly to: number;
}

/**
 * The seam for schedules. They stand in the store, so that every process sees them; whose slot it is, is decided there too. Moments are
 * those of the store's clock.
 */
export interface ScheduleStore {
  /** In the order of their names. */
  look(): Promise<ScheduleLook>;
  /** Makes the schedules of the store what the code says. One whose times are others than before begins now; a pause stays. */
  declare(request: DeclareRequest): Promise<void>;
  /** Takes note that the process which declared these still runs. */
  affirm(generation: string): Promise<void>;
  /** Takes note that it does not any more: that it was silent for so long. */
  leave(generation: string, silentMs: number): Promise<void>;
  /** Takes a slot and stores its job, both or neither. Answers with the job's id, or with nothing where somebody else was first. */
  fire(step: SlotStep, job: NewJob): Promise<string | undefined>;
  /** Passes over slots; `overlap` counts one. Says whether nobody else was first. */
  pass(step: SlotStep, reason: 'misfire' | 'overlap'): Promise<boolean>;
  /** Stores a job of the schedule beside its slots. Answers with its id, or with nothing where the schedule is another one by now. */
  runNow(schedule: StoredSchedule, job: NewJob): Promise<string | undefined>;
  /** Makes or changes a schedule at run time. One that stands in code is left alone. */
  set(definition: ScheduleDefinition): Promise<void>;
  /** Says whether it was not paused before. */
  pause(name: string): Promise<boolean>;
  /** Says whether it was paused. It goes on from now: slots of the pause do not count as missed. */
  resume(name: string): Promise<boolean>;
  /** Deletes one that was made at run time. Says whether there was one. */
  remove(name: string): Promise<boolean>;
}
