import { forEachDatabase } from '../support/databases.js';
import { StoreRig } from '../support/store-rig.js';
import { describeJobStore } from './job-store.contract.js';

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  describeJobStore({
    open: () => rig.open(),
    openAnother: () => rig.openAnother(),
    clear: () => rig.clear(),
  });
});
