import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const day = 86_400_000;

forEachDatabase((database) => {
  let rig: QueueRig;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
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
