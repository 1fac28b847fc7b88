import type { JobContext } from 'nestjs-jobs';
import type { DataSource, EntityManager } from 'typeorm';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase, type TestDatabase } from '../support/databases.js';
import { LagProbe } from '../support/lag-probe.js';
import { projectRoot } from '../support/markdown.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const processes = 4;
const jobsEach = 150;
/** A driver that waits by itself stands still for five seconds; a busy machine for some tenths of one. */
const longLagMs = 1_500;

/** Takes the write lock on a connection of its own; resolves to the promise of its end, so many milliseconds later. */
async function takeLock(database: TestDatabase, ms: number): Promise<{ readonly released: Promise<unknown> }> {
  const other = await database.connect();
  await other.query('BEGIN IMMEDIATE');
  const released = new Promise((resolve) => setTimeout(resolve, ms)).then(() => other.query('COMMIT'));
  return { released };
}

forEachDatabase(
  (database) => {
    let dataSource: DataSource;
    let rig: QueueRig;

    beforeEach(async () => {
      dataSource = await database.connect();
      rig = new QueueRig(dataSource);
    });

    afterEach(async () => {
      killChildren();
      await rig.close();
      await database.clear();
    });

    it("queue writes wait for another connection's lock without holding up the process that has it", async () => {
      const queue = await rig.queue();
      let runs = 0;
      queue.register('work', () => ++runs);
      await queue.start();
      const { released } = await takeLock(database, 300);
      const probe = new LagProbe();

      await Promise.all(Array.from({ length: 20 }, () => queue.enqueue('work')));
      await released;
      await until(() => runs === 20);
      const lagMs = probe.stop();

      process.stdout.write(`sqlite-busy: the event loop stood still for ${Math.round(lagMs)} ms at the most\n`);
      expect(lagMs).toBeLessThan(longLagMs);
      expect(rig.sink.lines.filter((line) => /^(warn|error)/.test(line))).toEqual([]);
    });

    it('the commit of a transactional handler waits for readers elsewhere without holding up its process', async () => {
      await dataSource.query('PRAGMA journal_mode = DELETE');
      await dataSource.query('CREATE TABLE effects (what VARCHAR(100) NOT NULL)');
      const reader = await database.connect({ enableWAL: false });
      const queue = await rig.queue();
      const work = async (_payload: unknown, { manager }: JobContext<EntityManager>): Promise<void> => {
        await manager.query("INSERT INTO effects (what) VALUES ('a')");
        await reader.query('BEGIN');
        await reader.query('SELECT * FROM effects');
        setTimeout(() => void reader.query('COMMIT'), 300);
      };
      queue.register('work', work, { transactional: true });
      await queue.enqueue('work');

      await queue.tick();

      // While the process stands still the reader cannot end, and the commit fails.
      expect(await rig.rows()).toEqual([]);
      expect(await dataSource.query('SELECT what FROM effects')).toHaveLength(1);
    });

    it('four processes on one file run each of 600 jobs once, and no error reaches anybody', async () => {
      const app = ['.children/test/integration/apps/sqlite-crowd.app.js'];
      const crowd = Array.from({ length: processes }, (_, index) => {
        const own = { NAME: `p${index}`, JOBS: String(jobsEach), DATA_SOURCE: JSON.stringify(database.options()) };
        return new Child(app, { cwd: projectRoot, env: { ...process.env, NODE_OPTIONS: '', ...own } });
      });

      await Promise.all(crowd.map((child) => child.prints('has enqueued', 60_000)));
      await until(async () => (await rig.rows()).length === 0, { within: 60_000 });
      for (const child of crowd) child.kill('SIGTERM');
      const endings = await Promise.all(crowd.map(({ ended }) => ended));

      const lines = crowd.flatMap(({ output }) => output.trim().split('\n'));
      const ran = lines.filter((line) => line.startsWith('ran '));
      const lags = lines.filter((line) => line.startsWith('lag '));
      process.stdout.write(`sqlite-busy: the event loops stood still for at the most ${lags.join(', ')} ms\n`);
      expect(lines.filter((line) => !/^(ran|lag|has enqueued)/.test(line))).toEqual([]);
      expect(new Set(ran).size).toBe(processes * jobsEach);
      expect(ran).toHaveLength(processes * jobsEach);
      expect(endings).toEqual(crowd.map(() => ({ code: 0, signal: null })));
    }, 120_000);
  },
  ['sqlite-file'],
);
