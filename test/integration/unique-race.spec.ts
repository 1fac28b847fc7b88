import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';
import { projectRoot } from '../support/markdown.js';

const processes = 4;
const rounds = 3;
const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);

forEachDatabase(
  (database) => {
    describe('processes that enqueue the same keys at the same time', () => {
      let dataSource: DataSource;
      let rig: QueueRig;
      let gates: string;

      beforeEach(async () => {
        dataSource = await database.connect();
        rig = new QueueRig(dataSource);
        gates = await mkdtemp(join(tmpdir(), 'nestjs-jobs-gates-'));
      });

      afterEach(async () => {
        killChildren();
        await rig.close();
        await database.empty();
        await rm(gates, { recursive: true, force: true });
      });

      async function start(): Promise<readonly Child[]> {
        const children = Array.from(
          { length: processes },
          () =>
            new Child(['.children/test/integration/apps/enqueues-keys.app.js'], {
              cwd: projectRoot,
              env: {
                ...process.env,
                NODE_OPTIONS: '',
                DATA_SOURCE: JSON.stringify(database.options()),
                GATES: gates,
                ROUNDS: String(rounds),
                KEYS: keys.join(','),
              },
            }),
        );
        await Promise.all(children.map((child) => child.prints('ready', 60_000)));
        return children;
      }

      /** How many jobs a process says it has stored in a round. */
      function storedBy({ output }: Child, round: number): number {
        return Number(new RegExp(`round ${round}: (\\d+) stored`).exec(output)?.[1]);
      }

      it('store one job for each key and generation', async () => {
        const queue = await rig.queue();
        const ran: string[] = [];
        queue.register('work', (generation) => ran.push(String(generation)));
        const children = await start();

        for (let round = 0; round < rounds; round += 1) {
          await writeFile(join(gates, String(round)), '');
          await Promise.all(children.map((child) => child.prints(`round ${round}: `, 60_000)));

          expect(children.map((child) => storedBy(child, round)).reduce((sum, count) => sum + count)).toBe(keys.length);
          const rows = await rig.rows();
          expect(rows.map((row) => String(Reflect.get(row, 'unique_key'))).toSorted()).toEqual(keys.toSorted());
          expect(new Set(rows.map(({ payload }) => payload))).toEqual(new Set([String(round)]));
          while (await queue.tick());
        }

        expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(
          children.map(() => ({ code: 0, signal: null })),
        );
        expect(ran).toHaveLength(rounds * keys.length);
      }, 180_000);

      it('store as many jobs as are run, never two of a key at a time, while workers complete them', async () => {
        const queue = await rig.queue({ workers: 8 });
        const running = new Set<unknown>();
        const clashes: string[] = [];
        let runs = 0;
        queue.register('work', async (_payload, { id }) => {
          const { unique_key: key } = (await rig.row(`id = '${id}'`)) as unknown as { unique_key: string };
          if (running.has(key)) clashes.push(key);
          running.add(key);
          runs += 1;
          await new Promise((resolve) => setImmediate(resolve));
          running.delete(key);
        });
        const children = await start();
        await queue.start();

        for (let round = 0; round < rounds; round += 1) await writeFile(join(gates, String(round)), '');
        await Promise.all(children.map((child) => child.prints(`round ${rounds - 1}: `, 120_000)));
        await until(async () => (await rig.rows()).length === 0, { within: 60_000 });

        const stored = children.flatMap((child) =>
          Array.from({ length: rounds }, (_, round) => storedBy(child, round)),
        );
        expect(stored.reduce((sum, count) => sum + count)).toBe(runs);
        expect(clashes).toEqual([]);
      }, 180_000);
    });

    describe('a process that dies while it runs a job with a key', () => {
      let rig: Rig;

      beforeEach(async () => {
        rig = await Rig.create(database);
      });

      afterEach(async () => {
        await rig.close();
        await database.empty();
      });

      it('leaves the key to the job, which runs again under it', async () => {
        const options = { uniqueKey: 'ada' };
        const id = await rig.enqueue([{ do: 'wait', gate: 'open' }], options);
        const app = await rig.start();
        await until(async () => (await rig.count('start', id)) === 1);
        await app.end('SIGKILL');

        expect(await rig.enqueue([{ do: 'note', what: 'second' }], options)).toBe(id);
        await rig.open('open');
        await rig.start();
        await until(async () => (await rig.rows()).length === 0, { within: 30_000 });

        expect(await rig.count('start', id)).toBe(2);
        expect(await rig.count('done', id)).toBe(1);
        expect(await rig.count('second')).toBe(0);
        expect(await rig.enqueue([], options)).not.toBe(id);
      }, 120_000);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
