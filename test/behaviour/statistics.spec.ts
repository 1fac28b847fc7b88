import { InvalidOptionError } from '../../lib/model/errors.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

forEachDatabase((database) => {
  let rig: QueueRig;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  it('adds up over processes what became of the jobs of each type', async () => {
    const [first, second] = [await rig.queue(), await rig.queue()];
    for (const queue of [first, second]) {
      queue.register('good', () => undefined);
      queue.register('bad', () => {
        throw new Error('boom');
      });
      await queue.enqueueMany([{ type: 'good' }, { type: 'bad', maxRetries: 1 }, { type: 'good' }]);
    }
    await first.start();
    await until(async () => (await rig.rows("status <> 'failed'")).length === 0);
    await first.stop();
    await second.start();
    await second.enqueue('good');
    await until(async () => (await rig.rows("status <> 'failed'")).length === 0);
    await second.stop();

    const { from, until: end, types } = await first.admin.statistics();

    expect(end.getTime() - from.getTime()).toBe(3_600_000);
    const waited = { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) };
    expect(types).toEqual([
      expect.objectContaining({ type: 'bad', completed: 0, failed: 2, retried: 2, perMinute: 0, wait: waited }),
      expect.objectContaining({ type: 'good', completed: 5, failed: 0, retried: 0, perMinute: 5 / 60, run: waited }),
    ]);
    const sum = types[1]?.minutes.reduce((all, { completed }) => all + completed, 0);
    expect(sum).toBe(5);
  });

  it('looks back no longer than it is asked to, and deletes what is older than a day', async () => {
    const queue = await rig.queue();
    queue.register('good', () => undefined);
    await queue.enqueue('good');
    while (await queue.tick());
    await queue.stop();
    await rig.dataSource.query('UPDATE rws_jobs_statistics SET minute = minute - 7200000');

    expect((await queue.admin.statistics()).types).toEqual([]);
    expect((await queue.admin.statistics({ window: 10_800_000 })).types).toHaveLength(1);

    await rig.dataSource.query('UPDATE rws_jobs_statistics SET minute = minute - 86400000');
    await queue.enqueue('good');
    while (await queue.tick());
    await queue.stop();

    expect(await rig.dataSource.query('SELECT completed FROM rws_jobs_statistics')).toHaveLength(1);
  });

  it.each([0, 59_999, 86_400_001, NaN, '1'])('refuses to look back %p', async (window) => {
    const queue = await rig.queue();

    await expect(queue.admin.statistics({ window: window as number })).rejects.toThrow(InvalidOptionError);
  });
});
