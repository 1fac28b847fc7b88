import { systemClock } from '../../lib/model/clock.js';
import { TestStore } from '../../lib/testing/test-store.js';
import { describeAdmission } from './admit.contract.js';
import { describeJobQueries } from './job-queries.contract.js';
import { describeJobStore } from './job-store.contract.js';

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
});
