import { systemClock } from '../../lib/model/clock.js';
import type { JobFilter } from '../../lib/stores/job-queries.js';
import { TestStore } from '../../lib/testing/test-store.js';
import { aJob, someJobs } from '../support/a-job.js';
import { claim, settle } from '../support/store-rig.js';
import { describeAdmission } from './admit.contract.js';
import { describeBatches } from './batches.contract.js';
import { describeJobQueries } from './job-queries.contract.js';
import { describeJobStore } from './job-store.contract.js';
import { describePayloadRoom } from './payload-room.contract.js';
import { describeSchedules } from './schedule-store.contract.js';

describe('the store of the testing kit', () => {
  let store: TestStore;

  const fixture = {
    open: async () => {
      store = new TestStore({ clock: systemClock });
      return store;
    },
    openAnother: async () => store,
    clear: () => store.close(),
  };
  describeJobStore(fixture);
  describePayloadRoom(fixture);
  describeAdmission({ open: fixture.open, clear: fixture.clear });
  describeJobQueries(fixture);
  describeBatches(fixture);
  describeSchedules({
    open: async () => {
      const { schedules } = await fixture.open();
      const count = async (): Promise<number> =>
        (await store.queries.count(100)).reduce((sum, { count: n }) => sum + n, 0);
      return { stores: [schedules, schedules], jobs: { admit: (jobs) => store.admit(jobs), count } };
    },
    clear: fixture.clear,
  });

  describe('claimLimited', () => {
    const request = { limit: 10, owner: 'ada', leaseMs: 60_000 };
    const idsOf = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id);
    const types = [{ type: 'work', most: 10, graceMs: 0, isKeyed: true }];

    beforeEach(fixture.open);
    afterEach(fixture.clear);

    it('claims of each key the first job alone, until that is over', async () => {
      const [a1, a2, b1] = [aJob({ key: 'a' }), aJob({ key: 'a' }), aJob({ key: 'b' })];
      const [plain, other] = [aJob(), aJob({ type: 'other', key: 'a' })];
      await store.insert([a1, a2, b1, plain, other]);

      const { claimed } = await store.claimLimited({ ...request, types });

      expect(idsOf(claimed).toSorted()).toEqual(idsOf([a1, b1, plain]).toSorted());
      expect((await store.claimLimited({ ...request, types })).claimed).toEqual([]);
      for (const job of claimed) await settle(store, job);
      expect(idsOf((await store.claimLimited({ ...request, types })).claimed)).toEqual([a2.id]);
    });

    it('claims no more than may run at the same time, and says when a rate limit lets the next one start', async () => {
      await store.insert(someJobs(5));
      const few = [
        { type: 'work', most: 10, graceMs: 0, globalConcurrency: 3, rateLimit: { limit: 4, windowMs: 600_000 } },
      ];

      const first = await store.claimLimited({ ...request, types: few });
      expect(first.claimed).toHaveLength(3);
      expect(first.waits.size).toBe(0);
      for (const job of first.claimed) await settle(store, job);
      const second = await store.claimLimited({ ...request, types: few });

      expect(second.claimed).toHaveLength(1);
      expect(Math.abs((second.waits.get('work') ?? 0) - 600_000)).toBeLessThan(60_000);
    });

    it('leaves alone what is paused, and what others have to claim', async () => {
      await store.insert([aJob({ queue: 'mail', key: 'a' }), aJob({ key: 'b' })]);
      await store.pauses.pause({ kind: 'queue', name: 'mail' });

      expect((await store.claimLimited({ ...request, types })).claimed).toMatchObject([{ key: 'b' }]);
      await store.pauses.resume({ kind: 'queue', name: 'mail' });
      expect((await store.claimLimited({ ...request, types, queues: { except: ['mail'] } })).claimed).toEqual([]);
    });
  });

  it('finds jobs by their batch, their last error and the moment of their end', async () => {
    await fixture.open();
    const batchId = aJob().id;
    await store.insert([aJob({ batchId }), aJob()]);
    for (const job of await claim(store)) await settle(store, job, { kind: 'failed', error: 'the boom of it' });
    const count = async (filter: JobFilter): Promise<number> =>
      (await store.queries.list({ filter, limit: 10, after: undefined, payload: 'without payload' })).length;
    const later = Date.now() + 60_000;

    expect(await count({ batch: batchId })).toBe(1);
    expect([await count({ error: 'boom' }), await count({ error: 'Boom' })]).toEqual([2, 0]);
    expect([await count({ finishedFrom: 1 }), await count({ finishedFrom: later })]).toEqual([2, 0]);
    expect([await count({ finishedBefore: 1 }), await count({ finishedBefore: later })]).toEqual([0, 2]);
    await fixture.clear();
  });
});
