import { forEachDatabase } from '../support/databases.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const transactional = { transactional: ['work'] };

forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeEach(async () => {
      rig = await Rig.create(database);
      await rig.dataSource.query('CREATE TABLE written (job_id VARCHAR(64) NOT NULL)');
    });

    afterEach(async () => {
      await rig.close();
      await database.clear();
    });

    async function written(): Promise<readonly string[]> {
      const rows: { job_id: string }[] = await rig.dataSource.query('SELECT job_id FROM written ORDER BY job_id');
      return rows.map((row) => row.job_id);
    }

    it('what a transactional handler wrote before its process was killed is not there, and the job runs again', async () => {
      const id = await rig.enqueue([
        { do: 'write' },
        { do: 'note', what: 'written' },
        { do: 'kill', signal: 'SIGKILL', by: 'first' },
      ]);
      const first = await rig.start({ ...transactional, name: 'first' });
      await first.ended;

      expect(await rig.count('written', id)).toBe(1);
      expect(await written()).toEqual([]);

      await rig.start(transactional);
      await until(async () => (await rig.rows()).length === 0);

      expect(await rig.count('written', id)).toBe(2);
      expect(await written()).toEqual([id]);
    });

    it('each job has its effect once, whenever its process is killed', async () => {
      const persistent = { lease: 1_000, workers: 4, interruptionBackoff: 0, maxInterruptions: 50 };
      const ids = await Promise.all(Array.from({ length: 80 }, () => rig.enqueue([{ do: 'write' }])));
      for (const share of [0.3, 0.7]) {
        const app = await rig.start({ ...transactional, persistent });
        await until(async () => (await written()).length >= ids.length * share);
        await app.end('SIGKILL');
      }
      await rig.start({ ...transactional, persistent });
      await until(async () => (await rig.rows()).length === 0);

      expect(await written()).toEqual(ids.toSorted());
      expect(rig.faults()).toEqual([]);
    });

    it('a process that stood still for longer than its lease commits nothing', async () => {
      const id = await rig.enqueue([{ do: 'write' }, { do: 'wait', gate: 'end' }]);
      const first = await rig.start({ ...transactional, name: 'first' });
      await until(async () => (await rig.count('start', id)) === 1);
      await rig.heartbeat(id);
      first.signal('SIGSTOP');
      await rig.start(transactional);
      await until(async () => (await rig.count('start', id)) === 2);
      await rig.open('end');
      await until(async () => (await rig.rows()).length === 0);
      first.signal('SIGCONT');
      await first.prints(/lost its claim|was given back/);

      expect(await written()).toEqual([id]);
    });
  },
  // Who stands still with an open transaction keeps everybody from a file of SQLite, so there nobody takes over.
  ['postgres', 'mysql'],
);

forEachDatabase(
  (database) => {
    it('on SQLite, too, a kill before the commit undoes it, and after it nothing runs again', async () => {
      const rig = await Rig.create(database);
      await rig.dataSource.query('CREATE TABLE written (job_id VARCHAR(64) NOT NULL)');
      const kill = { do: 'kill', signal: 'SIGKILL', by: 'first' } as const;
      const id = await rig.enqueue([{ do: 'write' }, kill]);
      const first = await rig.start({ ...transactional, name: 'first' });
      await first.ended;
      const ids = [id, ...(await Promise.all(Array.from({ length: 60 }, () => rig.enqueue([{ do: 'write' }]))))];
      const count = async (): Promise<number> => ((await rig.dataSource.query('SELECT * FROM written')) as []).length;

      for (const most of [15, ids.length]) {
        const persistent = { lease: 1_000, interruptionBackoff: 0, maxInterruptions: 50 };
        const app = await rig.start({ ...transactional, persistent });
        await until(async () => (await count()) >= most);
        await app.end('SIGKILL');
      }
      await rig.start(transactional);
      await until(async () => (await rig.rows()).length === 0);

      const rows: { job_id: string }[] = await rig.dataSource.query('SELECT job_id FROM written ORDER BY job_id');
      expect(rows.map((row) => row.job_id)).toEqual(ids.toSorted());
      await rig.close();
      await database.clear();
    });
  },
  ['sqlite-file'],
);
