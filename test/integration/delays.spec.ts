import type { DataSource } from 'typeorm';
import { Snooze } from '../../lib/model/steering.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const day = 86_400_000;

forEachDatabase((database) => {
  let rig: QueueRig;
  let dataSource: DataSource;

  beforeEach(async () => {
    dataSource = await database.connect();
    rig = new QueueRig(dataSource);
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  it('a process starts on time what it knows of, without a poll', async () => {
    const queue = await rig.queue({ pollInterval: 3_600_000, backoff: { initial: 30 } });
    const ran: string[] = [];
    queue.register('flaky', (_payload, { attempt }) => {
      if (attempt < 3) throw new Error('boom');
      ran.push('retried');
    });
    queue.register('snoozes', () => {
      if (ran.includes('snoozed')) return;
      ran.push('snoozed');
      throw new Snooze(1_000);
    });
    queue.register('note', (payload) => void ran.push(String(payload)));
    await queue.start();

    await queue.enqueue('flaky');
    await queue.enqueue('snoozes');
    await queue.enqueue('note', 'delayed', { delay: 40 });
    await queue.enqueue('note', 'planned', { runAt: new Date(Date.now() + 60) });
    await queue.tryEnqueue('note', 'unique', { delay: 50, uniqueKey: 'one' });
    await dataSource.transaction(async (manager) => {
      await queue.enqueue('note', 'in a transaction, later', { delay: 50, manager });
      await queue.enqueue('note', 'in a transaction, at once', { manager });
      await queue.enqueue('note', 'in a transaction, last', { delay: 70, manager });
    });
    await until(async () => (await rig.rows()).length === 0);

    expect(ran.toSorted()).toEqual([
      'delayed',
      'in a transaction, at once',
      'in a transaction, last',
      'in a transaction, later',
      'planned',
      'retried',
      'snoozed',
      'unique',
    ]);
  });

  it('by default the first retry waits half a second at least, and the second a whole one', async () => {
    const queue = await rig.queue({ backoff: undefined });
    const starts: number[] = [];
    queue.register('flaky', () => {
      starts.push(performance.now());
      if (starts.length < 3) throw new Error('boom');
    });
    await queue.enqueue('flaky');

    await queue.start();
    await until(() => starts.length === 3);

    const [first = 0, second = 0, third = 0] = starts;
    // The database counts whole milliseconds.
    expect(second - first).toBeGreaterThanOrEqual(499);
    expect(third - second).toBeGreaterThanOrEqual(999);
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

    it('no delay is too long for a timer: nothing runs early, and Node has nothing to warn of', async () => {
      const backoff = { initial: 30 * day, max: 90 * day };
      const delayed = await rig.enqueue([], { delay: 60 * day });
      const planned = await rig.enqueue([], { runAt: new Date(Date.now() + 60 * day) });
      const failing = await rig.enqueue([{ do: 'throw', message: 'try next month' }]);
      const app = await rig.start({ persistent: { backoff, pollInterval: 2 ** 31, lease: 2 ** 32, timeout: 2 ** 33 } });

      await until(async () => (await rig.row(`id = '${failing}'`)).attempts === 1);
      await rig.start();
      const control = await rig.enqueue([]);
      await until(async () => (await rig.count('done', control)) === 1);

      const waiting = await rig.rows("status = 'pending'");
      expect(waiting.map(({ id }) => id).toSorted()).toEqual([delayed, planned, failing].toSorted());
      expect(Math.min(...waiting.map((row) => row.next_run_at))).toBeGreaterThan(Date.now() + 29 * day);
      expect(await rig.count('start')).toBe(2);
      expect(app.faults).toEqual([]);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
