import { forEachDatabase } from '../support/databases.js';
import { StoreRig } from '../support/store-rig.js';
import { describeAdmission } from './admit.contract.js';
import { describeJobStore, type JobStoreFixture } from './job-store.contract.js';
import { describePayloadRoom } from './payload-room.contract.js';

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  const fixture: JobStoreFixture = {
    open: () => rig.open(),
    openAnother: () => rig.openAnother(),
    clear: () => rig.empty(),
  };
  describeJobStore(fixture);
  describeAdmission(fixture);
  describePayloadRoom(fixture);
});
