import type { JobContext, PersistentJobQueue } from 'nestjs-jobs';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { Rig } from '../support/rig/rig.js';
import { SqlFaults } from '../support/sql-faults.js';
import { until } from '../support/until.js';

/** How often a lease is renewed while a test looks: several times its own length. */
const renewals = 4;
/** A claim sets more than that. */
const heartbeat = /SET\s+lease_until = /;

forEachDatabase((database) => {
  let rig: QueueRig;
  let faults: SqlFaults;
  let runs = 0;
  let finish: () => void;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    faults = new SqlFaults(database);
    runs = 0;
  });

  afterEach(async () => {
    faults.restore();
    finish();
    await rig.close();
    await database.empty();
  });

  async function instance(): Promise<PersistentJobQueue> {
    const queue = await rig.queue({ lease: 1_200, shutdownTimeout: 60_000 });
    queue.register('long', () => {
      runs += 1;
      return new Promise<void>((resolve) => (finish = resolve));
    });
    await queue.start();
    return queue;
  }

  async function seeRenewals(): Promise<void> {
    const seen = new Set<number | null>();
    await until(async () => seen.add((await rig.row()).lease_until).size > renewals);
  }

  it('a job longer than its lease runs once', async () => {
    const first = await instance();
    await first.enqueue('long');
    await until(() => runs === 1);
    await instance();

    await seeRenewals();
    finish();
    await until(async () => (await rig.rows()).length === 0);

    expect(runs).toBe(1);
  });

  it('a job longer than its lease runs once while its queue drains, too', async () => {
    const first = await instance();
    await first.enqueue('long');
    await until(() => runs === 1);
    await instance();

    const stopped = first.stop();
    await seeRenewals();
    finish();
    await stopped;

    expect(runs).toBe(1);
    expect(await rig.rows()).toEqual([]);
  });

  it('a job whose lease cannot be renewed is told to end before another queue starts it', async () => {
    const told: string[] = [];
    const [a, b] = await Promise.all(['A', 'B'].map(() => rig.queue({ lease: 1_200, workers: 1 })));
    a?.register('long', (_payload, { signal }: JobContext) => {
      told.push('A started');
      signal.addEventListener('abort', () => told.push('A aborted'));
      // It has the only worker of its queue until the end, so that the job is left to the other one.
      return new Promise<void>((resolve) => (finish = resolve));
    });
    b?.register('long', () => void told.push('B started'));
    faults.fail({ statement: heartbeat, times: Infinity, error: 'connection' });
    await a?.enqueue('long');
    await a?.start();
    await until(() => told.length === 1);

    await b?.start();
    await until(async () => (await rig.rows()).length === 0);

    expect(told).toEqual(['A started', 'A aborted', 'B started']);
    expect(faults.hits).toBeGreaterThan(0);
  });
});

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

    it('a process that is held up by one job loses all its jobs, says so, and hurts nobody', async () => {
      const blocking = await rig.enqueue([
        { do: 'wait', gate: 'all have started', by: 'A' },
        { do: 'block', gate: 'a', by: 'A' },
        { do: 'wait', gate: 'b', by: 'B' },
      ]);
      const beside = await rig.enqueue([
        { do: 'await abort', by: 'A' },
        { do: 'wait', gate: 'b', by: 'B' },
      ]);
      const a = await rig.start({ name: 'A' });
      await until(async () => (await rig.count('start')) === 2);
      await rig.open('all have started');
      await rig.start({ name: 'B' });
      await until(async () => (await rig.count('start')) === 4);
      const tokens = (await rig.rows()).map(({ claim_token: token }) => token);

      await rig.open('a');
      for (const id of [blocking, beside]) await a.prints(`(${id}) lost its claim`);
      await until(async () => (await rig.count('aborted: lease lost', beside)) === 1);

      const rows = await rig.rows();
      expect(rows.map(({ claim_token: token }) => token)).toEqual(tokens);
      expect(rows.map(({ status, attempts, interruptions }) => [status, attempts, interruptions])).toEqual([
        ['running', 0, 1],
        ['running', 0, 1],
      ]);
      await rig.open('b');
      await until(async () => (await rig.rows()).length === 0);
      expect(await rig.count('start')).toBe(4);
    });

    it('a process that is held up for less than its lease loses nothing', async () => {
      await rig.enqueue([{ do: 'block', gate: 'a' }]);
      await rig.start({ persistent: { lease: 30_000 } });
      await until(async () => (await rig.count('start')) === 1);
      await rig.start({ persistent: { lease: 30_000 }, types: ['work', 'other'] });
      const other = await rig.enqueue([], { type: 'other' });
      await until(async () => (await rig.count('done', other)) === 1);

      await rig.open('a');
      await until(async () => (await rig.rows()).length === 0);

      expect(await rig.count('start')).toBe(2);
    });
  },
  ['postgres', 'mysql'],
);
