import { systemClock } from '../../lib/model/clock.js';
import { TestStore } from '../../lib/testing/test-store.js';
import { describeAdmission } from './admit.contract.js';
import { describeBatches } from './batches.contract.js';
import { describeJobQueries } from './job-queries.contract.js';
import { describeJobStore } from './job-store.contract.js';
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
});
