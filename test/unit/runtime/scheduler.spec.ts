import { jest } from '@jest/globals';
import { systemClock } from '../../../lib/model/clock.js';
import { CronTimes } from '../../../lib/runtime/cron-times.js';
import { DeclaredSchedules } from '../../../lib/runtime/declared-schedules.js';
import { Scheduler, type SchedulerParts } from '../../../lib/runtime/scheduler.js';
import { MemorySchedules } from '../../../lib/stores/memory/memory-schedules.js';
import { aJob } from '../../support/a-job.js';
import { aSchedule } from '../../contract/schedule-store.contract.js';
import { until } from '../../support/until.js';

function makeScheduler(given: Partial<SchedulerParts>): Scheduler {
  return new Scheduler({
    store: () => Promise.reject(new Error('no table')),
    times: new CronTimes(),
    declared: new DeclaredSchedules(),
    knownTypes: () => ['work'],
    makeJob: async () => aJob(),
    clock: systemClock,
    pollMs: 5,
    warn: () => undefined,
    onLook: () => undefined,
    keepAlive: 'unref',
    ...given,
  });
}

describe('a scheduler', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('says once what keeps it from looking, when that lasts', async () => {
    jest.useFakeTimers();
    const warnings: string[] = [];
    const scheduler = makeScheduler({ warn: (message) => warnings.push(message) });
    scheduler.start();

    await jest.advanceTimersByTimeAsync(28_000);
    expect(warnings).toEqual([]);
    await jest.advanceTimersByTimeAsync(60_000);

    expect(warnings).toEqual(['schedules cannot be looked at, trying again until they can: no table']);
    await scheduler.stop().catch(() => undefined);
  });

  it('says nothing of an outage, which the workers tell of', async () => {
    jest.useFakeTimers();
    const warnings: string[] = [];
    let isOut = true;
    const scheduler = makeScheduler({ warn: (message) => warnings.push(message), isOut: () => isOut });
    scheduler.start();

    await jest.advanceTimersByTimeAsync(600_000);
    expect(warnings).toEqual([]);
    // What lasts beyond it is another matter.
    isOut = false;
    await jest.advanceTimersByTimeAsync(60_000);

    expect(warnings).toHaveLength(1);
    await scheduler.stop().catch(() => undefined);
  });

  it('starts again while its last turn has not ended', async () => {
    const store = new MemorySchedules({ clock: systemClock, add: ({ id }) => id, holds: () => false });
    let looks = 0;
    let isSilent = true;
    const scheduler = makeScheduler({
      store: () => (isSilent ? new Promise(() => undefined) : Promise.resolve(store)),
      onLook: () => (looks += 1),
    });
    scheduler.start();

    void scheduler.stop();
    isSilent = false;
    scheduler.start();

    await until(() => looks > 1);
    await scheduler.stop();
  });

  it('leaves alone what it has no handler for, and what is another thing in its code', async () => {
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    let now = Date.parse('2026-01-01T06:00Z');
    const store = new MemorySchedules({ clock: { ...clock, now: () => now }, add: ({ id }) => id, holds: () => false });
    await store.set(aSchedule({ name: 'known' }));
    await store.set(aSchedule({ name: 'unknown', type: 'other' }));
    await store.declare({ generation: 'elsewhere', schedules: [aSchedule({ name: 'code' })], scope: 'some' });
    const fired: string[] = [];
    let looks = 0;
    const scheduler = makeScheduler({
      store: () =>
        Promise.resolve(Object.assign(Object.create(store) as MemorySchedules, { declare: async () => undefined })),
      makeJob: async ({ name }) => {
        fired.push(name);
        return aJob();
      },
      onLook: () => (looks += 1),
    });
    scheduler.start();
    await until(() => looks > 1);

    now += 3 * 3_600_000;
    const seen = looks;
    await until(() => looks > seen + 2);
    await scheduler.stop();

    expect(fired).toEqual(['known']);
  });
});
