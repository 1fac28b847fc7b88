import type { DataSource } from 'typeorm';
import type { EnqueueOptions } from '../../lib/model/enqueue-options.js';
import { InvalidOptionError } from '../../lib/model/errors.js';
import type { JobContext } from '../../lib/model/job-context.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const boom = (): never => {
  throw new Error('boom');
};
const odd = ["a'b", 'a"b', 'a`b', 'a\\b', '%', '_', '--', ';drop', '$1', '?', ':x', '__proto__', 'constructor'];

forEachDatabase((database) => {
  let dataSource: DataSource;
  let rig: QueueRig;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    dataSource = await database.connect();
    rig = new QueueRig(dataSource);
    queue = await rig.queue({ maxRetries: 1 });
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  const sync = (payload?: unknown, options: EnqueueOptions = {}) =>
    queue.tryEnqueue('sync', payload, { uniqueKey: 'ada', ...options });

  describe('a unique key', () => {
    it('makes enqueue return the id of the job that does the work', async () => {
      const id = await queue.enqueue('sync', 1, { uniqueKey: 'ada' });

      expect(await queue.enqueue('sync', 2, { uniqueKey: 'ada' })).toBe(id);
      expect(await rig.row()).toMatchObject({ id, payload: '1' });
    });

    it('is free after a success', async () => {
      queue.register('sync', () => undefined);
      const { id } = await sync();
      await queue.tick();

      const next = await sync();

      expect(next).toMatchObject({ outcome: 'stored', deduplicated: false });
      expect(next.id).not.toBe(id);
    });

    it('is free when the last attempt has failed, though the row is kept', async () => {
      queue.register('sync', boom);
      const { id } = await sync();
      await until(async () => (await queue.tick(), (await rig.row()).status === 'failed'));

      expect(await sync()).toMatchObject({ outcome: 'stored' });
      expect(await rig.row(`id = '${id}'`)).toMatchObject({ status: 'failed', unique_key: 'ada' });
    });

    it('is held while the job waits for a retry, which is no duplicate of itself', async () => {
      const attempts: number[] = [];
      queue.register('sync', (_payload, { attempt }: JobContext) => {
        attempts.push(attempt);
        if (attempt === 1) boom();
      });
      const { id } = await sync();
      await queue.tick();

      expect(await sync()).toEqual({ id, outcome: 'waiting', deduplicated: true });
      await until(async () => (await queue.tick(), attempts.length === 2));
      expect(await rig.rows()).toEqual([]);
    });

    it('is held while the job runs', async () => {
      const seen: unknown[] = [];
      queue.register('sync', async () => {
        seen.push(await sync(), await sync('new', { onDuplicate: 'replace' }));
      });
      const { id } = await sync();
      await queue.tick();

      const running = { id, outcome: 'running', deduplicated: true };
      expect(seen).toEqual([running, running]);
      expect(await queue.tick()).toBe(false);
    });

    it('is free when the row is deleted', async () => {
      await sync();
      await dataSource.query('DELETE FROM rws_jobs');

      expect(await sync()).toMatchObject({ outcome: 'stored' });
    });

    it('goes back with a job that the queue gives back', async () => {
      const { id } = await sync();
      queue.register('sync', (_payload, { signal }: JobContext) => {
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        });
      });
      await queue.start(1);
      await until(async () => (await rig.row()).status === 'running');
      await queue.stop();

      expect(await sync()).toMatchObject({ id, outcome: 'waiting' });
    });

    it('is shared by nothing else: plain jobs are as many as are enqueued', async () => {
      await sync();
      await queue.enqueueMany([{ type: 'sync' }, { type: 'sync' }]);
      await Promise.all([queue.enqueue('sync'), sync(), queue.enqueue('sync')]);

      expect(await rig.rows()).toHaveLength(5);
    });

    it.each(odd)('may be %s', async (uniqueKey) => {
      const others = odd.filter((other) => other !== uniqueKey);
      await queue.enqueueMany(others.map((other) => ({ type: 'sync', uniqueKey: other })));

      expect(await sync(1, { uniqueKey })).toMatchObject({ outcome: 'stored' });
      expect(await sync(1, { uniqueKey })).toMatchObject({ outcome: 'waiting' });
      expect((await rig.rows()).map((row) => String(Reflect.get(row, 'unique_key'))).toSorted()).toEqual(
        odd.toSorted(),
      );
    });

    it('counts in enqueueMany', async () => {
      const results = await queue.tryEnqueueMany([
        { type: 'sync', payload: 1, uniqueKey: 'ada' },
        { type: 'sync', payload: 2 },
        { type: 'sync', payload: 3, uniqueKey: 'ada', onDuplicate: 'replace' },
      ]);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'stored', 'replaced']);
      expect((await rig.rows()).map(({ payload }) => payload).toSorted()).toEqual(['2', '3']);
    });
  });

  describe('the key of a handler', () => {
    const withKey = (uniqueKey: (payload: unknown) => unknown): void =>
      queue.handlers.add({ type: 'sync', source: 'Crm.sync', policy: { uniqueKey }, run: () => undefined });

    it('is made from the payload', async () => {
      withKey((payload) => (payload as { id: string }).id);

      const results = await queue.tryEnqueueMany(['a', 'b', 'a'].map((id) => ({ type: 'sync', payload: { id } })));

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'stored', 'waiting']);
    });

    it('gives way to that of the job, and to none', async () => {
      withKey(() => 'ada');
      await queue.enqueue('sync');

      expect(await sync(1, { uniqueKey: 'bob' })).toMatchObject({ outcome: 'stored' });
      expect(await sync(1, { uniqueKey: null })).toMatchObject({ outcome: 'stored' });
      expect(await queue.tryEnqueue('sync', 1, { onDuplicate: 'replace' })).toMatchObject({ outcome: 'replaced' });
    });

    it('may be none for some payloads', async () => {
      withKey(() => undefined);

      const results = await queue.tryEnqueueMany([{ type: 'sync' }, { type: 'sync', onDuplicate: 'replace' }]);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'stored']);
    });

    it.each<[string, (payload: unknown) => unknown]>([
      ['what the uniqueKey of Crm.sync returns must be a string', () => 7],
      ['what the uniqueKey of Crm.sync returns must have no control characters', () => 'a\n'],
      ['the uniqueKey of Crm.sync threw', boom],
    ])('is refused where it makes no sense: %s', async (message, uniqueKey) => {
      withKey(uniqueKey);

      await expect(queue.enqueue('sync')).rejects.toThrow(message);
      expect(await rig.rows()).toEqual([]);
    });

    it('excludes a throttle of the job', async () => {
      withKey(() => 'ada');

      await expect(queue.enqueue('sync', 1, { throttle: { window: 1 } })).rejects.toThrow(/uniqueKey: null/);
      expect(await queue.enqueue('sync', 1, { throttle: { window: 1 }, uniqueKey: null })).toBeDefined();
    });
  });

  describe('a burst with onDuplicate replace', () => {
    it('runs once, with the last payload, after the last call', async () => {
      const ran: unknown[] = [];
      queue.register('sync', (payload) => ran.push(payload));

      for (const payload of [1, 2, 3]) await sync(payload, { delay: 60_000, onDuplicate: 'replace' });
      const before = await rig.row();
      await sync(4, { onDuplicate: 'replace' });

      expect((await rig.row()).next_run_at).toBeLessThan(before.next_run_at);
      while (await queue.tick());
      expect(ran).toEqual([4]);
    });
  });

  describe('a throttle', () => {
    const digest = (key?: string) =>
      queue.tryEnqueue('digest', null, { throttle: { window: 3_600_000, ...(key === undefined ? {} : { key }) } });

    it('lets one job through, also when that is over', async () => {
      queue.register('digest', () => undefined);
      const first = await digest();
      while (await queue.tick());

      expect(await digest()).toEqual({ id: first.id, outcome: 'throttled', deduplicated: true });
      expect(await rig.rows()).toEqual([]);
    });

    it.each(odd)('is one for each key, such as %s', async (key) => {
      await digest();

      expect(await digest(key)).toMatchObject({ outcome: 'stored' });
      expect(await digest(key)).toMatchObject({ outcome: 'throttled' });
    });

    it('counts in enqueueMany', async () => {
      const throttle = { window: 60_000 };
      const results = await queue.tryEnqueueMany([
        { type: 'digest', throttle },
        { type: 'digest', throttle },
        { type: 'digest' },
      ]);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'throttled', 'stored']);
      expect(await rig.rows()).toHaveLength(2);
    });
  });

  describe('an expiry', () => {
    it('keeps a job from being run too late, and says so', async () => {
      let runs = 0;
      queue.register('code', () => ++runs);
      await queue.enqueue('code', '1234', { expiresIn: 1 });
      await until(async () => {
        const { expires_at: at } = (await rig.row()) as unknown as { expires_at: unknown };
        return Number(at) < Date.now() - 50;
      });

      expect(await queue.tick()).toBe(true);

      expect(runs).toBe(0);
      expect(await rig.row()).toMatchObject({
        status: 'failed',
        attempts: 0,
        last_error: 'expired: it could not start before its expiresAt',
      });
      expect(rig.sink.lines.join()).toContain('expired before it could start');
    });

    it('lets a job run in time', async () => {
      let runs = 0;
      queue.register('code', () => ++runs);
      await queue.enqueue('code', '1234', { expiresAt: new Date(Date.now() + 600_000) });
      await queue.enqueueMany([{ type: 'code', expiresIn: 600_000 }]);

      while (await queue.tick());

      expect(runs).toBe(2);
    });

    it('counts for retries too', async () => {
      let runs = 0;
      queue.register('code', () => {
        runs += 1;
        boom();
      });
      await queue.enqueue('code', '1234', { expiresIn: 600_000, maxRetries: 5 });
      await queue.tick();
      await rig.set('expires_at = 1, next_run_at = 1');

      await queue.tick();

      expect(runs).toBe(1);
      expect(await rig.row()).toMatchObject({ status: 'failed', attempts: 1 });
    });
  });

  describe('tags', () => {
    it('are what the handler finds', async () => {
      const seen: unknown[] = [];
      queue.register('tagged', (_payload, job: JobContext) => seen.push(job.tags));
      await queue.enqueue('tagged', null, { tags: ['billing', 'übung', 'billing'] });
      await queue.enqueue('tagged');

      while (await queue.tick());

      expect(seen).toEqual([['billing', 'übung'], []]);
    });
  });

  it.each<[string, EnqueueOptions]>([
    ['uniqueKey', { uniqueKey: '' }],
    ['uniqueKey', { uniqueKey: 'x'.repeat(256) }],
    ['uniqueKey', { uniqueKey: 'a\nb' }],
    ['uniqueKey', { uniqueKey: ' a' }],
    ['uniqueKey', { uniqueKey: '\ud800' }],
    ['onDuplicate', { uniqueKey: 'a', onDuplicate: 'drop' as 'keep' }],
    ['onDuplicate', { onDuplicate: 'keep' }],
    ['throttle', { throttle: { window: 10 }, uniqueKey: 'a' }],
    ['throttle.window', { throttle: { window: 0 } }],
    ['throttle.key', { throttle: { window: 10, key: '' } }],
    ['expiresIn', { expiresIn: 0 }],
    ['expiresIn', { expiresIn: 10, delay: 10 }],
    ['expiresAt', { expiresAt: 1_700_000_000 }],
    ['expiresAt', { expiresAt: new Date(), runAt: new Date(Date.now() + 60_000) }],
    ['expiresIn and expiresAt', { expiresIn: 10, expiresAt: new Date() }],
    ['tags', { tags: Array.from({ length: 17 }, (_, index) => `t${index}`) }],
    ['tags[1]', { tags: ['a', 'x'.repeat(65)] }],
  ])('refuses a senseless %s, and stores nothing: %j', async (name, options) => {
    const refused = queue.tryEnqueueMany([{ type: 'fine' }, { type: 'sync', ...options }]);

    await expect(refused).rejects.toThrow(InvalidOptionError);
    await expect(refused).rejects.toThrow(name);
    expect(await rig.rows()).toEqual([]);
  });
});
