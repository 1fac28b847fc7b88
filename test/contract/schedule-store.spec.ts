import { systemClock } from '../../lib/model/clock.js';
import type { ScheduleStore } from '../../lib/stores/schedule-store.js';
import { MemorySchedules } from '../../lib/stores/memory/memory-schedules.js';
import { MemoryStore } from '../../lib/stores/memory/memory-store.js';
import { forEachDatabase } from '../support/databases.js';
import { StoreRig } from '../support/store-rig.js';
import { aSchedule, describeSchedules } from './schedule-store.contract.js';

describe('in memory', () => {
  let store: MemoryStore;

  describeSchedules({
    open: async () => {
      store = new MemoryStore(systemClock);
      const schedules = new MemorySchedules({
        clock: systemClock,
        add: (job) => store.add(job).id,
        holds: (id) => store.holds(id),
      });
      const jobs = {
        admit: (given: Parameters<MemoryStore['admit']>[0]) => store.admit(given),
        count: async () => store.size,
      };
      return { stores: [schedules, schedules], jobs };
    },
    clear: () => store.close(),
  });
});

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  describeSchedules({
    open: async () => {
      const [one, two] = [await rig.open(), await rig.openAnother()];
      return {
        stores: [one.schedules, two.schedules],
        jobs: { admit: (jobs) => one.admit(jobs), count: async () => (await rig.rows()).length },
      };
    },
    clear: () => rig.clear(),
  });

  describe('a table of schedules', () => {
    let store: ScheduleStore;
    const names = async (): Promise<readonly string[]> => (await store.look()).schedules.map(({ name }) => name);

    beforeEach(async () => {
      store = (await rig.open()).schedules;
      const [a, b, c] = ['a', 'b', 'c'].map((name) => aSchedule({ name, type: name }));
      if (a === undefined || b === undefined || c === undefined) return;
      await store.declare({ generation: 'one app', schedules: [b, a], scope: { handledTypes: [] } });
      await store.declare({ generation: 'another app', schedules: [c], scope: { handledTypes: [] } });
      await store.set(aSchedule({ name: 'run time', type: 'b' }));
    });

    afterEach(() => rig.clear());

    it('keeps those of other apps apart, and those made at run time', async () => {
      expect(await names()).toEqual(['a', 'b', 'c', 'run time']);
    });

    it('forgets what was declared together with what still stands in the code', async () => {
      const schedules = [aSchedule({ name: 'a', type: 'a' })];

      await store.declare({ generation: 'next deploy', schedules, scope: { handledTypes: [] } });

      expect(await names()).toEqual(['a', 'c', 'run time']);
    });

    it('forgets what has a type that the code handles', async () => {
      await store.declare({ generation: 'next deploy', schedules: [], scope: { handledTypes: ['b', 'x'] } });

      expect(await names()).toEqual(['a', 'c', 'run time']);
    });

    it('forgets what no code has declared for a week', async () => {
      await store.leave('another app', 6 * 86_400_000);
      await store.declare({ generation: 'third app', schedules: [], scope: { handledTypes: [] } });
      expect(await names()).toContain('c');
      await store.leave('another app', 8 * 86_400_000);
      await store.declare({ generation: 'third app', schedules: [], scope: { handledTypes: [] } });

      expect(await names()).toEqual(['a', 'b', 'run time']);
    });
  });
});
