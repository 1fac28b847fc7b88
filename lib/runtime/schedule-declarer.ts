import { randomUUID } from 'node:crypto';
import type { ScheduleLook, ScheduleStore, StoredSchedule } from '../stores/schedule-store.js';
import type { DeclaredSchedules } from './declared-schedules.js';

export interface ScheduleDeclarerParts {
  readonly declared: DeclaredSchedules;
  /** The job types that this process can run. */
  readonly knownTypes: () => readonly string[];
}

/** How often a process says that it still runs. */
const affirmIntervalMs = 15_000;
/** A process that has been silent for so long does not run any more; others of the same code take its place. */
const silentAfterMs = 60_000;
/** Only when none of these has, do those of other code. */
const goneAfterMs = 120_000;
/** Whoever declared a payload function gets so much of a start for each slot: others may be of an older deploy. */
const headStartMs = 5_000;

/**
 * Brings the schedules in the code into the store. The process that was started last wins, since it is of the newest deploy: each declares
 * what it has once, as it starts. The others leave a schedule alone whose fingerprint is not theirs. Only when those whose it is have been
 * silent for a while, since their deploy was taken back, one of the others puts in its own again.
 */
export class ScheduleDeclarer {
  private readonly generation = randomUUID();
  private readonly told = new Set<string>();
  private hasDeclared = false;

  constructor(private readonly parts: ScheduleDeclarerParts) {}

  /** Declares what is new since the last time; the first time, also what is not there any more. */
  async declareNew(store: ScheduleStore): Promise<void> {
    const { declared, knownTypes } = this.parts;
    const { generation } = this;
    const fresh = declared.all().filter(({ name }) => !this.told.has(name));
    if (this.hasDeclared && fresh.length === 0) return;
    const scope = this.hasDeclared ? 'some' : { handledTypes: knownTypes() };
    await store.declare({ generation, schedules: fresh, scope });
    for (const { name } of fresh) this.told.add(name);
    this.hasDeclared = true;
  }

  /** Says that this process still runs, and takes over schedules from those that do not. */
  async keepUp(store: ScheduleStore, { now, schedules }: ScheduleLook): Promise<void> {
    const { generation } = this;
    const isToBeSaid = (schedule: StoredSchedule): boolean =>
      this.isMine(schedule) && now - schedule.seenAt > affirmIntervalMs;
    if (schedules.some(isToBeSaid)) await store.affirm(generation);
    const free = schedules.filter((schedule) => this.isFree(schedule, now));
    const own = free.map(({ name }) => this.parts.declared.get(name)).filter((each) => each !== undefined);
    if (own.length > 0) await store.declare({ generation, schedules: own, scope: 'some' });
  }

  /** Lets others take over at once. */
  async leave(store: ScheduleStore): Promise<void> {
    if (this.told.size > 0) await store.leave(this.generation, silentAfterMs + 1);
  }

  /** Whether this process may make the jobs of a schedule: of one in code, where the code is the very same. */
  hasCodeOf({ name, source, fingerprint }: StoredSchedule): boolean {
    return source !== 'code' || this.parts.declared.get(name)?.fingerprint === fingerprint;
  }

  /** How much later than others this process comes to a slot. The text of a payload function may be the same in two deploys, and mean another thing. */
  delayMs(schedule: StoredSchedule): number {
    return schedule.payload === undefined && !this.isMine(schedule) ? headStartMs : 0;
  }

  private isMine({ generation }: StoredSchedule): boolean {
    return generation === this.generation;
  }

  private isFree(schedule: StoredSchedule, now: number): boolean {
    if (this.isMine(schedule)) return false;
    const patienceMs = this.hasCodeOf(schedule) ? silentAfterMs : goneAfterMs;
    return schedule.source !== 'code' || now - schedule.seenAt > patienceMs;
  }
}
