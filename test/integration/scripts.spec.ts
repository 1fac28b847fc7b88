import { join } from 'node:path';
import { Child, killChildren } from '../support/child.js';
import { forEachDatabase, type TestDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';

const root = join(import.meta.dirname, '../..');

afterEach(killChildren);

/** Runs an app of ./apps to its own end. */
async function run(name: string, database: TestDatabase, env: Record<string, string> = {}): Promise<Child> {
  const child = new Child([`.children/test/integration/apps/${name}.app.js`], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', DATA_SOURCE: JSON.stringify(database.options()), ...env },
  });
  const ending = await child.ended;
  if (ending.code !== 0) throw new Error(`${name} ended with ${JSON.stringify(ending)}; it printed:\n${child.output}`);
  return child;
}

forEachDatabase((database) => {
  afterEach(() => database.clear());

  it('a script that only enqueues runs nothing and ends by itself', async () => {
    const { output } = await run('only-enqueues', database);

    expect(output.trim().split('\n')).toEqual(['0 timers', 'ended soon']);
  });
});

forEachDatabase(
  (database) => {
    afterEach(() => database.clear());

    it('a testing module that is only compiled starts nothing', async () => {
      const { output } = await run('only-compiles', database);

      expect(output.trim()).toBe('2 queues, 0 timers more');
    });

    it('a script may enqueue while its app is still being made', async () => {
      const { output } = await run('early-enqueue', database);

      expect(output.trim().split('\n')).toEqual(['enqueued', 'started', 'closed']);
    });
  },
  ['sqlite-file', 'postgres'],
);

// Elsewhere the job outlives the script, or the app's own connections outlive a failed start.
forEachDatabase(
  (database) => {
    afterEach(() => database.clear());

    it('the job of a script that only enqueues waits in the table', async () => {
      await run('only-enqueues', database);

      const rig = new QueueRig(await database.connect());
      expect(await rig.row()).toMatchObject({ job_type: 'work', status: 'pending', attempts: 0, claimed_by: null });
    });

    it('a script whose app fails to start ends by itself', async () => {
      const { output } = await run('early-enqueue', database, { BROKEN: '1' });

      expect(output).toContain('Error: cannot be made');
    });
  },
  ['sqlite-file'],
);
