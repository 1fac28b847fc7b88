import { systemClock } from '../../lib/model/clock.js';
import { MemoryStore } from '../../lib/stores/memory/memory-store.js';
import { describeAdmission } from './admit.contract.js';
import { describeJobStore, type JobStoreFixture } from './job-store.contract.js';

describe('in memory', () => {
  let store: MemoryStore;

  const fixture: JobStoreFixture = {
    open: async () => {
      store = new MemoryStore(systemClock);
      return store;
    },
    clear: () => store.close(),
  };
  describeJobStore(fixture);
  describeAdmission(fixture);
});
