import { forEachDatabase } from '../support/databases.js';
import type { Row } from '../support/queue-rig.js';
import { stoppingLine } from '../support/rig/app-options.js';
import { Rig, type RigApp } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const manyShortJobs = 600;

forEachDatabase(
  (database) => {
    let rig: Rig;
    let app: RigApp;
    let ids: Readonly<Record<'finishes' | 'listens' | 'ignores' | 'fails', string>>;

    /** SIGTERM while four jobs of different kinds run, and while short ones stream by. */
    beforeAll(async () => {
      rig = await Rig.create(database);
      ids = {
        finishes: await rig.enqueue([
          { do: 'wait', gate: 'end' },
          { do: 'enqueue', type: 'next' },
        ]),
        listens: await rig.enqueue([{ do: 'await abort', by: 'first' }]),
        ignores: await rig.enqueue([{ do: 'hang', by: 'first' }]),
        fails: await rig.enqueue([
          { do: 'wait', gate: 'end' },
          { do: 'throw', message: 'during the drain' },
        ]),
      };
      const queue = await rig.queue();
      await queue.enqueueMany(Array.from({ length: manyShortJobs }, () => ({ type: 'short', payload: [] })));
      app = await rig.start({
        name: 'first',
        types: ['work', 'short'],
        persistent: { workers: 8, shutdownTimeout: 1_500, backoff: { initial: 60_000 } },
      });
      await until(async () =>
        (await rig.effects()).some(({ jobType, what }) => jobType === 'short' && what === 'done'),
      );
      app.signal('SIGTERM');
      await app.prints(stoppingLine);
      await rig.open('end');
      await app.ended;
    }, 90_000);

    afterAll(async () => {
      await rig.close();
      await database.empty();
    });

    function row(job: keyof typeof ids): Promise<Row> {
      return rig.row(`id = '${ids[job]}'`);
    }

    it('the process ends by the signal, without an error in its log', async () => {
      expect(await app.ended).toEqual({ code: null, signal: 'SIGTERM' });
      expect(rig.faults()).toEqual([]);
      expect(app.lines.filter((line) => line.includes('] error'))).toEqual([]);
    });

    it('a job that ends in time is done, and what it enqueued is stored', async () => {
      expect(await rig.rows(`id = '${ids.finishes}'`)).toEqual([]);
      expect(await rig.row("job_type = 'next'")).toMatchObject({ status: 'pending', attempts: 0 });
    });

    it('a job that listens is told why, and is due again with nothing counted', async () => {
      expect(await rig.count('aborted: shutdown', ids.listens)).toBe(1);
      const given = await row('listens');
      expect(given).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0, claim_token: null });
      expect(given.next_run_at).toBe(given.created_at);
    });

    it('a job that ignores the stop is left to its lease, with a warning', async () => {
      expect(await row('ignores')).toMatchObject({ status: 'running', attempts: 0, claim_token: null });
      expect(app.output).toContain(`warn: persistent job 'work' (${ids.ignores}) did not end when the queue stopped`);
    });

    it('a job that fails during the drain has failed', async () => {
      expect(await row('fails')).toMatchObject({ status: 'pending', attempts: 1, last_error: 'during the drain' });
    });

    it('jobs that have not started are due again with nothing counted, and no others are claimed', async () => {
      const short = await rig.rows("job_type = 'short'");
      const starts = (await rig.effects()).filter(({ jobType, what }) => jobType === 'short' && what === 'start');

      expect(short.length).toBeGreaterThan(0);
      expect(short.length + starts.length).toBe(manyShortJobs);
      expect(short.filter((one) => one.status !== 'pending' || one.attempts + one.interruptions > 0)).toEqual([]);
    });

    it('another process runs what was left, and no interruption is counted', async () => {
      await rig.start({ name: 'second', types: ['work', 'short', 'next'] });

      await until(async () => (await rig.rows()).length === 1);

      expect(await row('fails')).toMatchObject({ status: 'pending', attempts: 1, interruptions: 0 });
      for (const id of [ids.listens, ids.ignores]) expect(await rig.count('done', id)).toBe(1);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
