import { forEachDatabase } from '../support/databases.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeEach(async () => {
      rig = await Rig.create(database);
    });

    afterEach(async () => {
      await rig.close();
      await database.empty();
    });

    it('a job that runs in another process is told to end, once, and its row stays cancelled', async () => {
      const id = await rig.enqueue([{ do: 'await abort' }]);
      const app = await rig.start();
      await until(async () => (await rig.count('start', id)) === 1);
      const queue = await rig.queue();

      expect(await queue.cancel(id)).toEqual({ result: 'done', from: 'running' });

      await until(async () => (await rig.count('aborted: cancelled', id)) === 1);
      await app.prints('was cancelled');
      await app.end('SIGTERM');
      expect((await rig.effects(id)).map(({ what }) => what)).toEqual(['start', 'aborted: cancelled']);
      expect(await rig.row()).toMatchObject({ status: 'cancelled', attempts: 0, last_error: null, claim_token: null });
      expect(app.output).not.toContain('lost its claim');
      expect(rig.faults()).toEqual([]);
    });

    it('a handler that does not care cannot bring its job back, whether it ends well or badly', async () => {
      const ids = [
        await rig.enqueue([{ do: 'wait', gate: 'go' }]),
        await rig.enqueue([
          { do: 'wait', gate: 'go' },
          { do: 'throw', message: 'too late' },
        ]),
      ];
      const app = await rig.start();
      await until(async () => (await rig.count('start')) === 2);
      const queue = await rig.queue();
      for (const id of ids) await queue.cancel(id);

      await rig.open('go');
      await until(async () => (await rig.count('done')) === 1);
      await app.end('SIGTERM');

      expect((await rig.rows()).map(({ status, last_error: error }) => [status, error])).toEqual([
        ['cancelled', null],
        ['cancelled', null],
      ]);
      expect(await rig.count('start')).toBe(2);
      expect(app.output).not.toContain('lost its claim');
      expect(rig.faults()).toEqual([]);
    });

    it('a process that is killed in the middle of a cancelled job leaves nothing to recover', async () => {
      const id = await rig.enqueue([{ do: 'hang' }]);
      const app = await rig.start();
      await until(async () => (await rig.count('start', id)) === 1);
      const queue = await rig.queue();
      await queue.cancel(id);

      await app.end('SIGKILL');
      await rig.start({ name: 'B' });
      // Longer than the lease, so that whatever stood there to be recovered would be.
      const marker = await rig.enqueue([], { delay: 3_000 });
      await until(async () => (await rig.count('done', marker)) === 1);

      expect(await rig.row(`id = '${id}'`)).toMatchObject({ status: 'cancelled', interruptions: 0 });
      expect(await rig.count('start', id)).toBe(1);
    });

    it('a job that is retried after its cancel runs again, and the old attempt cannot touch it', async () => {
      const id = await rig.enqueue([
        { do: 'wait', gate: 'a', by: 'A' },
        { do: 'throw', message: 'the old attempt', by: 'A' },
        { do: 'wait', gate: 'b', by: 'B' },
      ]);
      const a = await rig.start({ name: 'A', persistent: { workers: 1, lease: 600_000 } });
      await until(async () => (await rig.count('start', id)) === 1);
      const queue = await rig.queue();
      await queue.cancel(id);
      await queue.retry(id);
      const b = await rig.start({ name: 'B' });
      await until(async () => (await rig.count('start', id)) === 2);

      await rig.open('a');
      await a.prints('lost its claim');
      expect(await rig.row()).toMatchObject({ status: 'running', attempts: 0, last_error: null });
      await rig.open('b');
      await until(async () => (await rig.rows()).length === 0);

      const done = (await rig.effects(id)).filter(({ what }) => what === 'done');
      expect(done.map(({ pid }) => pid)).toEqual([b.pid]);
      expect(rig.faults()).toEqual([]);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
