import type { DataSource } from 'typeorm';
import { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase } from '../support/databases.js';
import { projectRoot } from '../support/markdown.js';
import { quickOptions, QueueRig } from '../support/queue-rig.js';
import { RecordingSink } from '../support/recording-sink.js';
import { until } from '../support/until.js';

const moments = [
  ['has settled the last job and not looked at the batch', 'idle'],
  ['ends the batch, inside of that transaction', 'advance'],
  ['has ended the batch and not let go of its jobs', 'release'],
  ['has let go of them and not closed it', 'close'],
] as const;

forEachDatabase(
  (database) => {
    let dataSource: DataSource;
    let queues: PersistentJobQueue[];

    beforeEach(async () => {
      queues = [];
      dataSource = await database.connect();
    });

    afterEach(async () => {
      killChildren();
      await Promise.all(queues.map((queue) => queue.close()));
      await database.clear();
    });

    async function open(tableName: string): Promise<PersistentJobQueue> {
      const queue = await PersistentJobQueue.create(
        dataSource,
        { ...quickOptions, tableName, maxRetries: 0, maxInterruptions: 100 },
        { sink: new RecordingSink() },
      );
      queues.push(queue);
      return queue;
    }

    function start(table: string, killAt = ''): Child {
      return new Child(['.children/test/integration/apps/batch-worker.app.js'], {
        cwd: projectRoot,
        env: {
          ...process.env,
          NODE_OPTIONS: '',
          DATA_SOURCE: JSON.stringify(database.options()),
          TABLE: table,
          KILL_AT: killAt,
        },
      });
    }

    it('what follows is enqueued once, wherever the process dies that ends a batch', async () => {
      await Promise.all(
        moments.map(async ([, killAt]) => {
          const table = `jobs_${killAt}`;
          const queue = await open(table);
          const { id } = await queue.enqueueBatch([{ type: 'work' }, { type: 'work' }], {
            onComplete: { type: 'done' },
            onFailure: { type: 'sorry' },
          });
          expect(await start(table, killAt).ended).toMatchObject({ signal: 'SIGKILL' });
          const rig = new QueueRig(dataSource, table);
          const isLater = killAt === 'release' || killAt === 'close';
          expect((await queue.batch(id))?.state).toBe(isLater ? 'completed' : 'open');
          expect(await rig.rows("job_type = 'done'")).toHaveLength(isLater ? 1 : 0);

          const [followed, batches] = [[] as unknown[], `${table}_batches`];
          queue.register('work', () => undefined);
          queue.register('done', (_payload, { batch }) => followed.push(batch));
          await until(async () => {
            while (await queue.tick());
            const left: unknown = await dataSource.query(`SELECT id FROM ${batches} WHERE state = 'open'`);
            return (left as readonly unknown[]).length === 0 && (await rig.rows()).length === 0;
          });

          expect(followed).toEqual([{ id, total: 2, completed: 2, failed: 0 }]);
        }),
      );
    });

    it('what follows is enqueued once while processes are killed at any moment', async () => {
      const table = 'jobs_any';
      const queue = await open(table);
      const work = { type: 'work' };
      const followUps = { onComplete: { type: 'done' }, onFailure: { type: 'sorry' } };
      const ids: string[] = [];
      for (let n = 0; n < 12; n += 1) {
        const made =
          n % 3 === 0
            ? await queue.enqueueChain(
                Array.from({ length: 10 }, () => work),
                followUps,
              )
            : await queue.enqueueBatch(
                [...Array.from({ length: 8 }, () => work), ...(n % 3 === 1 ? [{ type: 'bad' }] : [])],
                followUps,
              );
        ids.push(made.id);
      }
      const isOver = async (): Promise<boolean> =>
        (await Promise.all(ids.map((id) => queue.batch(id)))).every((batch) => batch?.state !== 'open');
      const children = [start(table), start(table)];
      await Promise.all(children.map((child) => child.prints('ready')));
      for (const child of children) {
        // Another moment each time; which one does not matter.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
        child.kill('SIGKILL');
        await child.ended;
      }
      queue.register('work', () => undefined);
      queue.register('bad', () => {
        throw new Error('boom');
      });
      await queue.start(4);

      await until(isOver, { within: 60_000 });

      const rig = new QueueRig(dataSource, table);
      const follows = (await rig.rows("job_type IN ('done', 'sorry')")) as readonly {
        job_type: string;
        follows?: string;
      }[];
      const told = follows.map(
        ({ job_type: type, follows: text = '' }) => `${type} ${(JSON.parse(text) as { id: string }).id}`,
      );
      expect(told.toSorted()).toEqual(ids.map((id, n) => `${n % 3 === 1 ? 'sorry' : 'done'} ${id}`).toSorted());
      await until(async () => (await rig.rows("job_type = 'work'")).length === 0);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
