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

    it('an app that starts leaves the jobs of a live one alone', async () => {
      const persistent = { lease: 10_000 };
      const id = await rig.enqueue([{ do: 'wait', gate: 'end' }]);
      await rig.start({ persistent });
      await until(async () => (await rig.count('start')) === 1);
      const { claim_token: token } = await rig.row();

      await rig.start({ persistent, types: ['work', 'other'] });
      const other = await rig.enqueue([], { type: 'other' });
      await until(async () => (await rig.count('done', other)) === 1);

      expect(await rig.row(`id = '${id}'`)).toMatchObject({ status: 'running', claim_token: token, interruptions: 0 });
      await rig.open('end');
      await until(async () => (await rig.rows()).length === 0);
      expect(await rig.count('start', id)).toBe(1);
    });

    it('the job of a killed process is run once more by another one', async () => {
      const id = await rig.enqueue([{ do: 'wait', gate: 'end' }]);
      const first = await rig.start();
      await until(async () => (await rig.count('start')) === 1);
      const second = await rig.start();
      // What ends a lease is its own end: the owner is dead, and nobody here can prove it.
      await first.end('SIGKILL');
      const { lease_until: leaseUntil } = await rig.row();
      await rig.open('end');

      await until(async () => (await rig.rows()).length === 0);

      const runs = (await rig.effects(id)).map(({ what, pid, run }) => [what, pid, run]);
      expect(runs).toEqual([
        ['start', first.pid, 1],
        ['start', second.pid, 1],
        ['done', second.pid, 1],
      ]);
      expect((await rig.effects(id))[1]?.at).toBeGreaterThanOrEqual(leaseUntil ?? Infinity);
    });

    it('a killed process that starts again alone runs its old jobs when their leases have ended', async () => {
      const id = await rig.enqueue([{ do: 'wait', gate: 'end' }]);
      const first = await rig.start();
      await until(async () => (await rig.count('start')) === 1);
      await first.end('SIGKILL');
      const { lease_until: leaseUntil } = await rig.row();
      await rig.open('end');

      const second = await rig.start();
      await until(async () => (await rig.rows()).length === 0);

      const [, again] = await rig.effects(id);
      expect(again).toMatchObject({ what: 'start', pid: second.pid });
      expect(again?.at).toBeGreaterThanOrEqual(leaseUntil ?? Infinity);
    });

    it('a killed process that starts again on its own machine waits for no lease', async () => {
      const persistent = { lease: 600_000 };
      const id = await rig.enqueue([{ do: 'wait', gate: 'end' }]);
      const first = await rig.start({ persistent, machine: 'the same' });
      await until(async () => (await rig.count('start')) === 1);
      await first.end('SIGKILL');
      await rig.open('end');

      const second = await rig.start({ persistent, machine: 'the same' });
      await until(async () => (await rig.rows()).length === 0);

      expect(await rig.count('done', id)).toBe(1);
      await second.prints(`(${id}) was left by a worker that died or lost it (interruptions: 1): due again`);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
