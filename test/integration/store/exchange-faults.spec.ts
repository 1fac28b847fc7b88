import { StoreError } from '../../../lib/model/errors.js';
import { someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { SqlFaults } from '../../support/sql-faults.js';
import { claim, settlement, StoreRig } from '../../support/store-rig.js';

const acknowledgement = /DELETE (j )?FROM \S*rws_jobs[`"]?\s[\s\S]*claim_token/;
const request = { types: undefined, owner: 'ada', leaseMs: 60_000 };

forEachDatabase((database) => {
  const rig = new StoreRig(database);

  afterEach(() => rig.clear());

  it.each([10, 150])('an exchange of %i outcomes that cannot be stored leaves no claim behind', async (count) => {
    const store = await rig.open();
    await store.insert(someJobs(count + 50));
    const held = await claim(store, { limit: count });
    const faults = new SqlFaults(database);
    faults.fail({ statement: acknowledgement, times: 1, error: 'connection' });

    const exchange = store.exchange({ settle: held.map((job) => settlement(job)), claim: { ...request, limit: 50 } });
    await expect(exchange).rejects.toThrow(StoreError);
    faults.restore();

    const running = await rig.rows("status = 'running'");
    expect(running.map(({ id }) => id).toSorted()).toEqual(held.map(({ id }) => id).toSorted());
  });
});
