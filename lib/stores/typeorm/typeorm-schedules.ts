import type { NewJob } from '../../model/job.js';
import type { MisfirePolicy, OverlapPolicy, ScheduledJobOptions, ScheduleDefinition } from '../../model/schedule.js';
import type { DeclareRequest, ScheduleLook, ScheduleStore, SlotStep, StoredSchedule } from '../schedule-store.js';
import {
  forgetStatement,
  lastJobStatement,
  lookStatement,
  passStatement,
  pauseStatement,
  putStatement,
  removeStatement,
  resumeStatement,
  seenStatement,
  takeStatement,
} from './admin/schedule-statements.js';
import type { TextMaker } from './admin/sql-text.js';
import type { SqlDialect } from './dialects/sql-dialect.js';
import { toText, type Row } from './job-row.js';
import { inStore } from './store-error.js';

/** Schedules in a table beside that of the jobs. */
export class TypeOrmSchedules implements ScheduleStore {
  /** @param wake Called when jobs have become due. */
  constructor(
    private readonly dialect: Pick<SqlDialect, 'admin' | 'fire' | 'writeTogether'>,
    private readonly wake: () => void,
  ) {}

  look(): Promise<ScheduleLook> {
    return inStore('look at the schedules', async () => {
      const rows = await this.dialect.admin.read(lookStatement);
      return { now: Number(rows[0]?.['now'] ?? 0), schedules: rows.map(toSchedule) };
    });
  }

  declare(request: DeclareRequest): Promise<void> {
    const { words } = this.dialect.admin;
    const { schedules, generation, scope } = request;
    // All processes lock the rows in the same order.
    const puts = schedules
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((definition) => putStatement(words, { definition, source: 'code', generation }));
    const statements = scope === 'some' ? puts : [forgetStatement(request), ...puts];
    return inStore('declare schedules', () => this.dialect.writeTogether(statements));
  }

  async affirm(generation: string): Promise<void> {
    await this.write('affirm schedules', seenStatement(generation, 0));
  }

  async leave(generation: string, silentMs: number): Promise<void> {
    await this.write('leave schedules to others', seenStatement(generation, silentMs));
  }

  fire(step: SlotStep, job: NewJob): Promise<string | undefined> {
    return this.store(step.schedule, job, takeStatement(step, job.id));
  }

  pass(step: SlotStep, reason: 'misfire' | 'overlap'): Promise<boolean> {
    return this.change('pass over a slot', passStatement(step, reason === 'overlap' ? 1 : 0));
  }

  runNow(schedule: StoredSchedule, job: NewJob): Promise<string | undefined> {
    return this.store(schedule, job, lastJobStatement(schedule, job.id));
  }

  async set(definition: ScheduleDefinition): Promise<void> {
    const request = { definition, source: 'run time', generation: '' } as const;
    await this.write('store a schedule', putStatement(this.dialect.admin.words, request));
  }

  pause(name: string): Promise<boolean> {
    return this.change('pause a schedule', pauseStatement(name));
  }

  resume(name: string): Promise<boolean> {
    return this.change('resume a schedule', resumeStatement(name));
  }

  remove(name: string): Promise<boolean> {
    return this.change('remove a schedule', removeStatement(name));
  }

  private async store(schedule: StoredSchedule, job: NewJob, take: TextMaker): Promise<string | undefined> {
    const note = (jobId: string): TextMaker => lastJobStatement(schedule, jobId);
    const id = await inStore('store the job of a schedule', () => this.dialect.fire({ take, job, note }));
    if (id !== undefined) this.wake();
    return id;
  }

  private async change(what: string, make: TextMaker): Promise<boolean> {
    return (await this.write(what, make)) > 0;
  }

  private write(what: string, make: TextMaker): Promise<number> {
    return inStore(what, () => this.dialect.admin.write(make));
  }
}

function toSchedule(row: Row): StoredSchedule {
  const text = (column: string): string => toText(row[column]);
  const number = (column: string): number => Number(row[column]);
  const isMissing = (column: string): boolean => row[column] === null;
  return {
    name: text('name'),
    source: text('source') === 'code' ? 'code' : 'run time',
    type: text('job_type'),
    cron: text('cron'),
    timeZone: text('time_zone'),
    misfire: text('misfire') as MisfirePolicy,
    overlap: text('overlap') as OverlapPolicy,
    payload: isMissing('payload') ? undefined : text('payload'),
    options: toOptions(text('job_options')),
    fingerprint: text('fingerprint'),
    isPaused: number('is_paused') !== 0,
    doneUntil: number('done_until'),
    lastSlot: isMissing('last_slot') ? undefined : number('last_slot'),
    lastJobId: isMissing('last_job_id') ? undefined : text('last_job_id'),
    isBusy: number('is_busy') !== 0,
    skipped: number('skipped'),
    generation: text('generation'),
    seenAt: number('seen_at'),
  };
}

/** They are checked again where jobs are made of them. */
function toOptions(text: string): ScheduledJobOptions {
  return JSON.parse(text) as ScheduledJobOptions;
}
