import type { Outcome } from '../../../lib/model/outcome.js';
import { someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, StoreRig } from '../../support/store-rig.js';

const leaseMs = 600_000;
const outcomes: readonly Outcome[] = [
  { kind: 'completed' },
  { kind: 'retried', delayMs: 0, error: 'boom' },
  { kind: 'failed', error: 'boom' },
  { kind: 'released', delayMs: 0 },
];

/**
 * A process that is stopped in the middle of a transaction keeps its locks. In a small table a server is tempted to walk through all
 * rows, and to wait for those: then nobody settles or renews anything, and leases end of jobs that nothing interrupted.
 */
forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.empty());

    it.each([6, 12, 40])(
      'in a table of %i jobs, work on some does not wait for locks on others',
      async (count) => {
        const store = await rig.open();
        await store.insert(someJobs(count));
        const mine = await claim(store, { limit: count / 2 });
        const theirs = await claim(store, { limit: 2, owner: 'bob' });
        const pending = (await rig.rows("status = 'pending'")).slice(0, 1);
        const stopped = (await rig.dataSource()).createQueryRunner();
        await stopped.startTransaction('READ COMMITTED');
        for (const { id } of [...theirs, ...pending]) {
          await stopped.query(`UPDATE rws_jobs SET last_error = 'locked' WHERE id = '${id}'`);
        }

        expect(await store.extend(mine, leaseMs)).toEqual([]);
        for (const [index, outcome] of outcomes.entries()) {
          const settle = mine
            .filter((_job, at) => at % (outcomes.length + 1) === index)
            .map(({ id, token }) => ({ id, token, outcome }));
          expect(await store.exchange({ settle, claim: undefined })).toEqual({ lost: [], claimed: [] });
        }
        const rest = mine.filter((_job, at) => at % (outcomes.length + 1) === outcomes.length);
        expect(await store.disown('ada', [])).toBe(rest.length);
        expect(await store.prune({ state: 'failed', endedForMs: 0, limit: 100 })).toBe(
          mine.filter((_job, at) => at % (outcomes.length + 1) === 2).length,
        );
        const request = { owner: 'ada', maxInterruptions: 3, backoffMs: 0, limit: 10, deadOwners: ['bob'] };
        expect(await store.recover(request)).toEqual([]);

        await stopped.rollbackTransaction();
        await stopped.release();
      },
      9_000,
    );
  },
  ['postgres', 'mysql'],
);
