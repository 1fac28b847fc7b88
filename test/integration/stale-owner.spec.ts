import { forEachDatabase } from '../support/databases.js';
import { Rig, type RigApp } from '../support/rig/rig.js';
import type { Step } from '../support/rig/script.js';
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

    /** `A` stands still past the lease of its job; `B` has it and is half-way when `A` wakes up and its handler ends like this. */
    async function wakesTooLate(
      end: readonly Step[],
    ): Promise<{ a: RigApp; b: RigApp; id: string; token: string | null }> {
      const id = await rig.enqueue([
        { do: 'wait', gate: 'a', by: 'A' },
        { do: 'note', what: 'the handler ends', by: 'A' },
        ...end,
        { do: 'wait', gate: 'b', by: 'B' },
      ]);
      const a = await rig.start({ name: 'A', types: ['work', 'behind'] });
      await until(async () => (await rig.count('start')) === 1);
      await rig.heartbeat(id);
      a.signal('SIGSTOP');
      const b = await rig.start({ name: 'B' });
      await until(async () => (await rig.count('start')) === 2);
      const { claim_token: token } = await rig.row();

      await rig.open('a');
      a.signal('SIGCONT');
      await a.prints('lost its claim');
      return { a, b, id, token };
    }

    it.each<[string, readonly Step[]]>([
      ['is done', []],
      ['fails', [{ do: 'throw', message: 'too late', by: 'A' }]],
    ])(
      'a worker that wakes up when its job is taken, and whose handler then %s, changes nothing',
      async (_how, end) => {
        const { a, b, id, token } = await wakesTooLate(end);
        await until(async () => (await rig.count('the handler ends', id)) === 1);
        // Jobs of another type go through A's store behind whatever A would have written of this one.
        const behind = await rig.enqueue([], { type: 'behind' });
        await until(async () => (await rig.count('done', behind)) === 1);

        expect(await rig.row(`id = '${id}'`)).toMatchObject({
          status: 'running',
          claim_token: token,
          attempts: 0,
          last_error: null,
        });
        await rig.open('b');
        await until(async () => (await rig.rows()).length === 0);
        expect(await rig.count('start', id)).toBe(2);
        const done = (await rig.effects(id)).filter(({ what, pid }) => what === 'done' && pid === b.pid);
        expect(done).toHaveLength(1);
        expect(a.lines.filter((line) => line.includes('lost its claim'))).toHaveLength(1);
        expect(rig.faults()).toEqual([]);
      },
    );
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
