import { forEachDatabase } from '../support/databases.js';
import { StoreRig } from '../support/store-rig.js';
import { describeBatches } from './batches.contract.js';

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  describeBatches({
    open: () => rig.open(),
    openAnother: () => rig.openAnother(),
    clear: () => rig.clear(),
  });
});
