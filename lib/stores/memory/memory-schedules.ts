import type { Clock } from '../../model/clock.js';
import type { NewJob } from '../../model/job.js';
import type { ScheduleDefinition, ScheduleSource } from '../../model/schedule.js';
import type { DeclareRequest, ScheduleLook, ScheduleStore, SlotStep, StoredSchedule } from '../schedule-store.js';

export interface MemorySchedulesParts {
  readonly clock: Clock;
  /** Takes a job; returns the id of the one that does the work. */
  readonly add: (job: NewJob) => string;
  /** Whether the job of this id waits or runs. */
  readonly holds: (id: string) => boolean;
}

type Kept = Omit<StoredSchedule, 'isBusy'>;

/** Schedules in the memory of this process, which nobody else changes: each step finds what it saw, unless it was changed here meanwhile. */
export class MemorySchedules implements ScheduleStore {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly parts: MemorySchedulesParts) {}

  async look(): Promise<ScheduleLook> {
    const { clock, holds } = this.parts;
    const schedules = [...this.kept.values()]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((kept) => ({ ...kept, isBusy: kept.lastJobId !== undefined && holds(kept.lastJobId) }));
    return { now: clock.now(), schedules };
  }

  async declare({ schedules, scope, generation }: DeclareRequest): Promise<void> {
    const names = schedules.map(({ name }) => name);
    for (const [name, { source }] of this.kept) {
      if (scope !== 'some' && source === 'code' && !names.includes(name)) this.kept.delete(name);
    }
    for (const definition of schedules) this.put(definition, 'code', generation);
  }

  async affirm(): Promise<void> {}

  async leave(): Promise<void> {}

  async fire(step: SlotStep, job: NewJob): Promise<string | undefined> {
    const { to } = step;
    const kept = this.asSeen(step);
    if (kept === undefined) return undefined;
    const lastJobId = this.parts.add(job);
    this.kept.set(kept.name, { ...kept, doneUntil: to, lastSlot: to, lastJobId });
    return lastJobId;
  }

  async pass(step: SlotStep, reason: 'misfire' | 'overlap'): Promise<boolean> {
    const kept = this.asSeen(step);
    if (kept === undefined) return false;
    const skipped = kept.skipped + (reason === 'overlap' ? 1 : 0);
    this.kept.set(kept.name, { ...kept, doneUntil: step.to, skipped });
    return true;
  }

  async runNow({ name, fingerprint }: StoredSchedule, job: NewJob): Promise<string | undefined> {
    const kept = this.kept.get(name);
    if (kept?.fingerprint !== fingerprint) return undefined;
    const lastJobId = this.parts.add(job);
    this.kept.set(name, { ...kept, lastJobId });
    return lastJobId;
  }

  async set(definition: ScheduleDefinition): Promise<void> {
    if (this.kept.get(definition.name)?.source !== 'code') this.put(definition, 'run time');
  }

  async pause(name: string): Promise<boolean> {
    const kept = this.kept.get(name);
    if (kept === undefined || kept.isPaused) return false;
    this.kept.set(name, { ...kept, isPaused: true });
    return true;
  }

  async resume(name: string): Promise<boolean> {
    const kept = this.kept.get(name);
    if (kept === undefined || !kept.isPaused) return false;
    this.kept.set(name, { ...kept, isPaused: false, doneUntil: Math.max(kept.doneUntil, this.parts.clock.now()) });
    return true;
  }

  async remove(name: string): Promise<boolean> {
    return this.kept.get(name)?.source === 'run time' && this.kept.delete(name);
  }

  private put(definition: ScheduleDefinition, source: ScheduleSource, generation = ''): void {
    const now = this.parts.clock.now();
    const before = this.kept.get(definition.name) ?? fresh(now);
    const isKept = before.cron === definition.cron && before.timeZone === definition.timeZone;
    const doneUntil = isKept ? before.doneUntil : Math.max(before.doneUntil, now);
    this.kept.set(definition.name, { ...before, ...definition, source, generation, doneUntil, seenAt: now });
  }

  private asSeen({ schedule: { name, fingerprint }, from }: SlotStep): Kept | undefined {
    const kept = this.kept.get(name);
    const isAsSeen = kept?.fingerprint === fingerprint && !kept.isPaused && kept.doneUntil === from;
    return isAsSeen ? kept : undefined;
  }
}

type Fresh = Pick<Kept, 'isPaused' | 'doneUntil' | 'lastSlot' | 'lastJobId' | 'skipped'> & Partial<ScheduleDefinition>;

function fresh(now: number): Fresh {
  return { isPaused: false, doneUntil: now, lastSlot: undefined, lastJobId: undefined, skipped: 0 };
}
