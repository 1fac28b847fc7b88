import { someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, StoreRig } from '../../support/store-rig.js';

/** As many as a worker claims ahead at the most. */
const locked = 1_000;

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    afterEach(() => rig.empty());

    const choices: readonly [string, readonly string[] | undefined][] = [
      ['one type', ['work']],
      ['several types', ['work', 'other']],
      ['any type', undefined],
    ];
    it.each(choices)(
      'a claim of %s passes over what another one is just claiming, and finds what lies behind',
      async (_title, types) => {
        const store = await rig.open();
        const jobs = someJobs(locked + 5);
        await store.insert(jobs);
        const claimer = (await rig.dataSource()).createQueryRunner();
        await claimer.startTransaction('READ COMMITTED');
        // MariaDB walks through the whole table for a list of a thousand and more, and locks all of it.
        for (const half of [jobs.slice(0, locked / 2), jobs.slice(locked / 2, locked)]) {
          const ids = half.map(({ id }) => `'${id}'`);
          await claimer.query(`SELECT id FROM rws_jobs WHERE id IN (${ids.join(', ')}) FOR UPDATE`);
        }

        const found = await claim(store, { types, limit: 5 });
        await claimer.rollbackTransaction();
        await claimer.release();

        expect(found.map(({ id }) => id)).toEqual(jobs.slice(locked).map(({ id }) => id));
      },
    );
  },
  ['postgres', 'mysql'],
);
