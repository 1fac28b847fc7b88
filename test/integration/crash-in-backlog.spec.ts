import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase } from '../support/databases.js';
import { projectRoot } from '../support/markdown.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const jobs = 1_000;

forEachDatabase(
  (database) => {
    let dataSource: DataSource;
    let rig: QueueRig;
    let folder: string;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'backlog-'));
      dataSource = await database.connect();
      rig = new QueueRig(dataSource);
    });

    afterEach(async () => {
      killChildren();
      await rig.close();
      await database.empty();
      await rm(folder, { recursive: true });
    });

    function start(options: object, killAt = Infinity): Child {
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        DATA_SOURCE: JSON.stringify(database.options()),
        RUNS: join(folder, 'runs'),
        OPTIONS: JSON.stringify(options),
        KILL_AT: String(killAt),
      };
      return new Child(['.children/test/integration/apps/backlog.app.js'], { cwd: projectRoot, env });
    }

    async function isEmpty(): Promise<boolean> {
      const found: unknown = await dataSource.query('SELECT id FROM rws_jobs LIMIT 1');
      return (found as readonly unknown[]).length === 0;
    }

    /** Has a process killed again and again in the middle of a backlog; says of each job how often it ran. */
    async function runsUnder(options: object, kills: number): Promise<ReadonlyMap<string, number>> {
      const queue = await rig.queue();
      await queue.enqueueMany(Array.from({ length: jobs }, (_, payload) => ({ type: 'count', payload })));
      for (let kill = 0; kill < kills; kill += 1) {
        const killAt = 200 + Math.floor(Math.random() * 300);
        expect(await start(options, killAt).ended).toMatchObject({ signal: 'SIGKILL' });
      }
      start(options);
      await until(isEmpty);
      const counts = new Map<string, number>();
      for (const payload of (await readFile(join(folder, 'runs'), 'utf8')).trim().split('\n'))
        counts.set(payload, (counts.get(payload) ?? 0) + 1);
      return counts;
    }

    it.each([
      { workers: 4, prefetch: 100 },
      { workers: 4, prefetch: 0 },
    ])('a crash repeats the jobs that ran, and at the most so many more: %j', async ({ workers, prefetch }) => {
      const kills = 2;

      const counts = await runsUnder({ workers, prefetch, maxInterruptions: 100, lease: 3_000 }, kills);

      expect(counts.size).toBe(jobs);
      const runs = [...counts.values()].reduce((sum, count) => sum + count, 0);
      expect(runs).toBeGreaterThan(jobs);
      expect(runs - jobs).toBeLessThanOrEqual(kills * (workers + prefetch));
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
