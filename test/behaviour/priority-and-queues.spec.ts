import { InvalidOptionError } from '../../lib/model/errors.js';
import type { EnqueueOptions } from '../../lib/model/enqueue-options.js';
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

  describe('priority', () => {
    it('runs the lower number first, and the older of two that are alike', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      for (const type of ['a', 'b']) queue.register(type, (payload) => ran.push(payload));
      await queue.enqueue('a', 'plain 1');
      await queue.enqueue('b', 'late', { priority: 7 });
      await queue.enqueue('a', 'urgent', { priority: -100 });
      await queue.enqueueMany([
        { type: 'b', payload: 'plain 2' },
        { type: 'b', payload: 'soon', priority: -1 },
      ]);

      while (await queue.tick());

      expect(ran).toEqual(['urgent', 'soon', 'plain 1', 'plain 2', 'late']);
    });

    it('is not held up by urgent jobs that are not due yet', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      queue.register('a', (payload) => ran.push(payload));
      await queue.enqueue('a', 'future', { priority: -100, delay: 3_600_000 });
      await queue.enqueue('a', 'now', { priority: 100 });

      while (await queue.tick());

      expect(ran).toEqual(['now']);
    });

    it('survives a retry', async () => {
      const queue = await rig.queue({ backoff: { initial: 0 } });
      const ran: unknown[] = [];
      let isFirst = true;
      queue.register('a', (payload) => {
        ran.push(payload);
        if (!isFirst) return;
        isFirst = false;
        throw new Error('boom');
      });
      await queue.enqueue('a', 'plain');
      await queue.enqueue('a', 'urgent', { priority: -5 });

      await queue.tick();
      await until(async () => (await rig.rows("status = 'pending' AND attempts = 1")).length === 1);
      while (await queue.tick());

      expect(ran).toEqual(['urgent', 'urgent', 'plain']);
    });

    it.each([[101], [-101], [0.5], [Number.NaN], ['1'], [null]])('refuses %p and stores nothing', async (priority) => {
      const queue = await rig.queue();

      const options = { priority } as EnqueueOptions;
      await expect(queue.enqueue('a', 1, options)).rejects.toThrow(InvalidOptionError);
      await expect(queue.enqueue('a', 1, options)).rejects.toThrow(/priority must be a whole number from -100 to 100/);
      expect(await rig.rows()).toEqual([]);
    });
  });

  describe('queues', () => {
    it('keeps its own workers free for a queue that has some, whatever the others do', async () => {
      const queue = await rig.queue({ workers: 1, queues: { mail: 1 } });
      let release = (): void => undefined;
      const ran: unknown[] = [];
      queue.register('slow', () => new Promise<void>((resolve) => (release = resolve)));
      queue.register('send', (payload) => ran.push(payload));
      await queue.enqueueMany([{ type: 'slow' }, { type: 'slow' }, { type: 'send', payload: 'default' }]);
      await queue.enqueue('send', 'mail', { queue: 'mail' });

      await queue.start();
      await until(() => ran.length === 1);

      expect(ran).toEqual(['mail']);
      release();
      await until(() => {
        release();
        return ran.length === 2;
      });
    });

    it('works on the named queues alone where there are no other workers', async () => {
      const queue = await rig.queue({ workers: 0, queues: { mail: 2 } });
      const ran: unknown[] = [];
      queue.register('send', (payload) => ran.push(payload));
      await queue.enqueue('send', 'default', { priority: -100 });
      await queue.enqueue('send', 'mail', { queue: 'mail' });
      await queue.enqueue('send', 'mail too', { queue: 'mail' });

      await queue.start();
      await until(() => ran.length === 2);
      await queue.stop();

      expect(new Set(ran)).toEqual(new Set(['mail', 'mail too']));
      expect((await rig.row()).payload).toBe('"default"');
    });

    it('serves every queue by the common workers where none has its own', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      queue.register('send', (payload) => ran.push(payload));
      await queue.enqueue('send', 1, { queue: 'mail' });
      await queue.enqueue('send', 2, { queue: "o'clock/2 – äöü".replace(/[^\p{L}\d/ ]/gu, '_') });
      await queue.enqueue('send', 3);

      await queue.start();
      await until(() => ran.length === 3);
    });

    it('keeps names apart that differ in case only', async () => {
      const queue = await rig.queue({ workers: 0, queues: { mail: 1 } });
      queue.register('send', () => undefined);
      await queue.enqueue('send', 1, { queue: 'Mail' });
      await queue.enqueue('send', 2, { queue: 'mail' });

      await queue.start();
      await until(async () => (await rig.rows()).length === 1);

      expect((await rig.row()).payload).toBe('1');
    });

    it.each([[''], ['x'.repeat(65)], [' mail'], ["a'b"], ['a;b'], ['a\nb'], [7]])(
      'refuses the name %p',
      async (name) => {
        const queue = await rig.queue();

        const enqueued = queue.enqueue('send', 1, { queue: name } as EnqueueOptions);
        await expect(enqueued).rejects.toThrow(/queue must be the name of a queue/);
        expect(await rig.rows()).toEqual([]);
      },
    );
  });
});
