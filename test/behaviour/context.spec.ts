import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidPayloadError, PayloadTooLargeError, type ContextCarrier } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';

const storage = new AsyncLocalStorage<string>();
const tenant: ContextCarrier = {
  name: 'tenant',
  extract: () => storage.getStore(),
  run: (value, next) => storage.run(String(value), next),
};

/** A carrier of the same value each time. */
function carrying(name: string, value: unknown, run: ContextCarrier['run'] = (_value, next) => next()): ContextCarrier {
  return { name, extract: () => value, run };
}

forEachDatabase((database) => {
  let dataSource: DataSource;
  let rig: QueueRig;
  /** What handlers found, in order. */
  let found: unknown[];

  beforeEach(async () => {
    dataSource = await database.connect();
    rig = new QueueRig(dataSource);
    found = [];
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  const look = (): unknown => found.push(storage.getStore());

  describe('the context of a job', () => {
    it('is that of enqueue, enqueueMany, and of a transaction', async () => {
      const queue = await rig.queue({ context: [tenant] });
      queue.register('look', look);

      await storage.run('a', () => queue.enqueue('look'));
      await storage.run('b', () => queue.enqueueMany([{ type: 'look' }]));
      await storage.run('c', () =>
        dataSource.transaction(async (manager) => void (await queue.enqueue('look', 1, { manager }))),
      );
      while (await queue.tick());

      expect(found).toEqual(['a', 'b', 'c']);
    });

    it('is of each job its own, though inserts share a statement', async () => {
      const queue = await rig.queue({ context: [tenant] });
      queue.register('look', (payload) => found.push([payload, storage.getStore()]));
      const tenants = ['a', undefined, 'b', undefined, 'ü€😀', 'c'];

      await Promise.all(
        tenants.map((name) => {
          const enqueue = (): Promise<string> => queue.enqueue('look', name ?? null);
          return name === undefined ? enqueue() : storage.run(name, enqueue);
        }),
      );
      while (await queue.tick());

      expect(found).toHaveLength(tenants.length);
      for (const [payload, name] of found as [unknown, unknown][]) expect(name ?? null).toBe(payload);
    });

    it('is none where there was none, and the column is null', async () => {
      const queue = await rig.queue({ context: [tenant] });
      queue.register('look', look);
      await queue.enqueue('look');
      expect(await rig.row()).toMatchObject({ context: null });

      await storage.run('of the caller of tick', () => queue.tick());

      expect(found).toEqual([undefined]);
    });

    it('is that of its first enqueue in every attempt', async () => {
      const queue = await rig.queue({ context: [tenant], maxRetries: 2, backoff: { initial: 0 } });
      queue.register('look', () => {
        look();
        throw new Error('again');
      });

      await storage.run('a', () => queue.enqueue('look'));
      while (await queue.tick());

      expect(found).toEqual(['a', 'a', 'a']);
    });

    it('is handed on by a handler that enqueues', async () => {
      const queue = await rig.queue({ context: [tenant] });
      queue.register('first', () => queue.enqueue('look'));
      queue.register('look', look);

      await storage.run('a', () => queue.enqueue('first'));
      while (await queue.tick());

      expect(found).toEqual(['a']);
    });

    it('is restored around the middleware, and extracted inside of it', async () => {
      const queue = await rig.queue({
        context: [tenant],
        middleware: [
          { enqueue: (_jobs, next) => storage.run('of the middleware', next), run: (_job, next) => (look(), next()) },
        ],
      });
      queue.register('look', look);

      await queue.enqueue('look');
      await queue.tick();

      expect(found).toEqual(['of the middleware', 'of the middleware']);
    });

    it('is any JSON value of any number of carriers, the first one outermost', async () => {
      const seen =
        (name: string): ContextCarrier['run'] =>
        (value, next) => (found.push([name, value]), next());
      const queue = await rig.queue({
        context: [
          carrying('list', [1, null, { a: 'b' }], seen('list')),
          carrying('none', undefined, seen('none')),
          carrying('null', null, seen('null')),
        ],
      });
      queue.register('work', () => undefined);

      await queue.enqueue('work');
      await queue.tick();

      expect(found).toEqual([
        ['list', [1, null, { a: 'b' }]],
        ['null', null],
      ]);
    });

    it('may hold what this process does not know', async () => {
      const producer = await rig.queue({ context: [carrying('newer', 1), tenant] });
      const worker = await rig.queue({ context: [tenant] });
      worker.register('look', look);

      await storage.run('a', () => producer.enqueue('look'));
      await worker.tick();

      expect(found).toEqual(['a']);
    });

    it.each([
      ['JSON cannot carry', new Date(0), InvalidPayloadError, /^context\.bad is a Date/],
      ['is too large', 'x'.repeat(16_384), PayloadTooLargeError, /^the context has \d+ bytes/],
    ])('refuses a job with a value that %s', async (_what, value, errorClass, message) => {
      const queue = await rig.queue({ context: [carrying('bad', value)] });

      const refused = queue.enqueue('work');

      await expect(refused).rejects.toThrow(errorClass);
      await expect(refused).rejects.toThrow(message);
      expect(await rig.rows()).toEqual([]);
    });

    it('refuses a job when a carrier throws', async () => {
      const queue = await rig.queue({
        context: [
          {
            ...tenant,
            extract: () => {
              throw new Error('no tenant');
            },
          },
        ],
      });

      await expect(queue.enqueue('work')).rejects.toThrow('no tenant');
      expect(await rig.rows()).toEqual([]);
    });

    it.each<[string, ContextCarrier['run'], string | RegExp]>([
      ['throws', () => Promise.reject(new Error('unknown tenant')), 'unknown tenant'],
      ['never calls next', () => undefined, /without calling next/],
    ])('fails the attempt when its carrier %s', async (_what, run, message) => {
      const queue = await rig.queue({ context: [carrying('bad', 1, run)] });
      queue.register('work', look);
      await queue.enqueue('work');

      await queue.tick();

      expect(found).toEqual([]);
      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 1 });
      expect((await rig.row()).last_error).toMatch(message);
    });

    it.each(['no json', '"text"'])('fails at once a job whose context is %s', async (text) => {
      const queue = await rig.queue({ context: [tenant] });
      queue.register('work', look);
      await queue.enqueue('work');
      await rig.set(`context = '${text}'`);

      await queue.tick();

      expect(found).toEqual([]);
      expect(await rig.row()).toMatchObject({ status: 'failed', attempts: 1 });
    });
  });
});
