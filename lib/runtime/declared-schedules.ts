import { DuplicateScheduleError } from '../model/errors.js';
import type { DeclaredSchedule } from '../model/schedule.js';

/** The schedules that stand in the code of this process. */
export class DeclaredSchedules {
  private readonly schedules = new Map<string, DeclaredSchedule>();

  /** @throws DuplicateScheduleError when there is one of this name. */
  add(schedule: DeclaredSchedule): void {
    const present = this.schedules.get(schedule.name);
    if (present !== undefined) {
      throw new DuplicateScheduleError(
        `two schedules in the code are called '${schedule.name}', those of ${present.source} and ${schedule.source}; ` +
          'give one of them another name',
      );
    }
    this.schedules.set(schedule.name, schedule);
  }

  get(name: string): DeclaredSchedule | undefined {
    return this.schedules.get(name);
  }

  all(): readonly DeclaredSchedule[] {
    return [...this.schedules.values()];
  }
}
