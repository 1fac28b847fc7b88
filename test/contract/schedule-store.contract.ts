import type { NewJob } from '../../lib/model/job.js';
import type { ScheduleDefinition } from '../../lib/model/schedule.js';
import type { ScheduleStore, SlotStep, StoredSchedule } from '../../lib/stores/schedule-store.js';
import { aJob } from '../support/a-job.js';

/** A store with schedules, and what it keeps of jobs. */
export interface ScheduleFixture {
  /** Two of them over the same schedules, as two processes have them, where there can be two. */
  open(): Promise<{ readonly stores: readonly [ScheduleStore, ScheduleStore]; readonly jobs: JobsOf }>;
  clear(): Promise<void>;
}

interface JobsOf {
  admit(jobs: readonly NewJob[]): Promise<unknown>;
  /** How many jobs there are. */
  count(): Promise<number>;
}

export function aSchedule(given: Partial<ScheduleDefinition> = {}): ScheduleDefinition {
  return {
    name: 'digest',
    type: 'work',
    cron: '0 7 * * *',
    timeZone: 'UTC',
    misfire: 'once',
    overlap: 'skip',
    payload: '1',
    options: {},
    fingerprint: 'one',
    ...given,
  };
}

/** What every store of schedules must do. */
export function describeSchedules(fixture: ScheduleFixture): void {
  let store: ScheduleStore;
  let other: ScheduleStore;
  let jobs: JobsOf;

  async function seen(name = 'digest'): Promise<StoredSchedule> {
    const found = (await store.look()).schedules.find((schedule) => schedule.name === name);
    if (found === undefined) throw new Error(`there is no schedule ${name}`);
    return found;
  }

  async function step(afterMs = 1): Promise<SlotStep> {
    const schedule = await seen();
    return { schedule, from: schedule.doneUntil, to: schedule.doneUntil + afterMs };
  }

  describe('a store of schedules', () => {
    beforeEach(async () => {
      const opened = await fixture.open();
      [store, other] = opened.stores;
      jobs = opened.jobs;
      await store.set(aSchedule());
    });

    afterEach(() => fixture.clear());

    it('gives a slot to one of many who want it, with its job', async () => {
      const wanted = await step();

      const answers = await Promise.all(
        Array.from({ length: 8 }, (_none, index) => (index % 2 === 0 ? store : other).fire(wanted, aJob())),
      );

      const [id, ...more] = answers.filter((answer) => answer !== undefined);
      expect(more).toEqual([]);
      expect(await jobs.count()).toBe(1);
      expect(await seen()).toMatchObject({ doneUntil: wanted.to, lastSlot: wanted.to, lastJobId: id, isBusy: true });
      expect(await other.fire(wanted, aJob())).toBeUndefined();
    });

    it('gives no slot of a schedule that is paused, another one, or gone by now', async () => {
      const wanted = await step();

      await other.pause('digest');
      expect(await store.fire(wanted, aJob())).toBeUndefined();
      await other.resume('digest');
      const again = await step();
      await other.set(aSchedule({ fingerprint: 'two' }));
      expect(await store.fire(again, aJob())).toBeUndefined();
      expect(await store.pass(again, 'overlap')).toBe(false);
      const last = await step();
      await other.remove('digest');
      expect(await store.fire(last, aJob())).toBeUndefined();
      expect(await store.runNow(last.schedule, aJob())).toBeUndefined();

      expect(await jobs.count()).toBe(0);
    });

    it('passes over slots, and counts those of an overlap', async () => {
      expect(await store.pass(await step(5), 'overlap')).toBe(true);
      expect(await store.pass(await step(7), 'misfire')).toBe(true);

      expect(await seen()).toMatchObject({ skipped: 1, lastSlot: undefined, lastJobId: undefined, isBusy: false });
    });

    it('takes the job that holds the unique key of a new one for the one of the slot', async () => {
      const holder = aJob({ uniqueKey: 'daily' });
      await jobs.admit([holder]);

      expect(await store.fire(await step(), aJob({ uniqueKey: 'daily' }))).toBe(holder.id);

      expect(await jobs.count()).toBe(1);
      expect(await seen()).toMatchObject({ lastJobId: holder.id, isBusy: true });
    });

    it('leaves alone at run time what stands in code', async () => {
      await store.declare({ generation: 'a', schedules: [aSchedule({ fingerprint: 'code' })], scope: 'some' });

      await other.set(aSchedule({ fingerprint: 'run time', cron: '1 1 1 1 1' }));

      expect(await other.remove('digest')).toBe(false);
      expect(await seen()).toMatchObject({ source: 'code', fingerprint: 'code', cron: '0 7 * * *', generation: 'a' });
    });

    it('begins anew where the times are others, and nowhere else', async () => {
      const { doneUntil } = await seen();
      const { schedule } = await step();
      await store.pass({ schedule, from: doneUntil, to: doneUntil + 60_000 }, 'misfire');

      await store.set(aSchedule({ payload: '2', fingerprint: 'two' }));
      expect((await seen()).doneUntil).toBe(doneUntil + 60_000);
      await store.set(aSchedule({ timeZone: 'Asia/Tokyo', fingerprint: 'three' }));

      // Never back, or slots that were decided about would come again.
      expect((await seen()).doneUntil).toBe(doneUntil + 60_000);
    });
  });
}
