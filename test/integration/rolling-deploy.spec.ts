import { forEachDatabase } from '../support/databases.js';
import { Rig, type RigApp } from '../support/rig/rig.js';
import { until } from '../support/until.js';

forEachDatabase(
  (database) => {
    let rig: Rig;
    let old: RigApp;

    /** An old version knows `a` only; fifty jobs of the new type lie in front of ten of the old one. */
    beforeAll(async () => {
      rig = await Rig.create(database);
      const queue = await rig.queue();
      await queue.enqueueMany(Array.from({ length: 50 }, () => ({ type: 'b', payload: [] })));
      await queue.enqueueMany(Array.from({ length: 10 }, () => ({ type: 'a', payload: [] })));
      old = await rig.start({ types: ['a'] });
      await until(async () => (await rig.rows("job_type = 'a'")).length === 0);
    }, 90_000);

    afterAll(async () => {
      await rig.close();
      await database.empty();
    });

    it('a process leaves jobs of a type that it does not know as they are', async () => {
      const rows = await rig.rows();

      expect(rows).toHaveLength(50);
      expect(rows.filter(({ status, claimed_by: owner }) => status !== 'pending' || owner !== null)).toEqual([]);
      expect(rows.filter(({ attempts, interruptions }) => attempts + interruptions > 0)).toEqual([]);
    });

    it('the unknown type is named once in its log', async () => {
      await old.prints("no handler here is registered for job type 'b'");

      expect(old.lines.filter((line) => line.includes('jobs wait for a process that knows them'))).toHaveLength(1);
    });

    it('a process that knows them runs them all, each once', async () => {
      const young = await rig.start({ types: ['a', 'b'] });
      await until(async () => (await rig.rows()).length === 0);

      const starts = (await rig.effects()).filter(({ what, jobType }) => what === 'start' && jobType === 'b');
      expect(starts).toHaveLength(50);
      expect(new Set(starts.map(({ jobId }) => jobId)).size).toBe(50);
      expect(new Set(starts.map(({ pid }) => pid))).toEqual(new Set([young.pid]));
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
