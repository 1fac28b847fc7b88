import { forEachDatabase } from '../support/databases.js';
import { StoreRig } from '../support/store-rig.js';
import { describeJobQueries } from './job-queries.contract.js';

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  describeJobQueries({
    open: () => rig.open(),
    openAnother: () => rig.openAnother(),
    clear: () => rig.empty(),
  });
});
