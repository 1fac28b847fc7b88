import { systemClock } from '../../lib/model/clock.js';
import { MemoryStore } from '../../lib/stores/memory/memory-store.js';
import { describeJobStore } from './job-store.contract.js';

describe('in memory', () => {
  let store: MemoryStore;

  describeJobStore({
    open: async () => {
      store = new MemoryStore(systemClock);
      return store;
    },
    clear: () => store.close(),
  });
});
