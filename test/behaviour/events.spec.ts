import type { JobEvent } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const boom = (): never => {
  throw new Error('boom');
};

forEachDatabase((database) => {
  let dataSource: DataSource;
  let rig: QueueRig;

  beforeEach(async () => {
    dataSource = await database.connect();
    rig = new QueueRig(dataSource);
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  describe('the events of a persistent queue', () => {
    it('tell of a completed job once its row is gone', async () => {
      const queue = await rig.queue();
      queue.register('work', () => undefined);
      const rows: unknown[] = [];
      queue
        .observe('completed')
        .subscribe(({ job }): unknown => rig.rows(`id = '${job.id}'`).then((found) => rows.push(found)));
      await queue.enqueue('work');

      await queue.tick();

      await until(() => rows.length === 1);
      expect(rows).toEqual([[]]);
    });

    it('tell of a failed job once its row says so', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('work', boom);
      const states: unknown[] = [];
      queue
        .observe('failed')
        .subscribe(({ job }): unknown => rig.row(`id = '${job.id}'`).then((row) => states.push(row.status)));
      await queue.enqueue('work');

      await queue.tick();

      await until(() => states.length === 1);
      expect(states).toEqual(['failed']);
    });

    it('say which job, which attempt, and what went wrong', async () => {
      const queue = await rig.queue({ maxRetries: 1 });
      queue.register('work', boom);
      const events: JobEvent[] = [];
      queue.observe().subscribe((event) => events.push(event));
      const id = await queue.enqueue('work');

      await until(async () => (await queue.tick(), events.length === 2));

      const origin = { queue: 'persistent', instance: 'default' };
      expect(events).toEqual([
        {
          kind: 'retried',
          ...origin,
          job: { id, type: 'work', attempt: 1, maxRetries: 1 },
          error: 'boom',
          delayMs: 1,
          durationMs: expect.any(Number),
        },
        {
          kind: 'failed',
          ...origin,
          job: { id, type: 'work', attempt: 2, maxRetries: 1 },
          error: 'boom',
          stack: expect.stringContaining('boom'),
          durationMs: expect.any(Number),
        },
      ]);
    });

    it('never carry the payload', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('work', boom);
      queue.register('fine', () => undefined);
      const events: JobEvent[] = [];
      queue.observe().subscribe((event) => events.push(event));
      await queue.enqueueMany([
        { type: 'work', payload: { card: 'secret' } },
        { type: 'fine', payload: { card: 'secret' } },
      ]);

      while (await queue.tick());

      expect(events.map(({ kind }) => kind).toSorted()).toEqual(['completed', 'failed']);
      expect(JSON.stringify(events)).not.toContain('secret');
    });

    it('tell of interrupted jobs', async () => {
      const queue = await rig.queue();
      const events: JobEvent[] = [];
      queue.observe('interrupted').subscribe((event) => events.push(event));
      queue.register('work', () => undefined);
      const id = await queue.enqueue('work');
      await rig.set(`status = 'running', claimed_by = 'somebody', lease_until = 1`);

      await queue.tick();

      expect(events).toMatchObject([{ job: { id, type: 'work' }, interruptions: 1, state: 'pending' }]);
    });

    it.each<[string, () => unknown]>([
      ['throws', boom],
      ['rejects', () => Promise.reject(new Error('boom'))],
      ['never ends', () => new Promise(() => undefined)],
    ])('leave the jobs alone when a listener %s', async (how, listener) => {
      const queue = await rig.queue();
      queue.register('work', () => undefined);
      queue.observe().subscribe(listener);
      const others: unknown[] = [];
      queue.observe().subscribe(({ kind }) => others.push(kind));
      await queue.enqueueMany([{ type: 'work' }, { type: 'work' }, { type: 'work' }]);

      while (await queue.tick());

      expect(others).toEqual(['completed', 'completed', 'completed']);
      expect(await rig.rows()).toEqual([]);
      const errors = rig.sink.lines.filter((line) => line.startsWith('error'));
      expect(errors).toEqual(how === 'never ends' ? [] : [expect.stringContaining('boom')]);
    });
  });
});
