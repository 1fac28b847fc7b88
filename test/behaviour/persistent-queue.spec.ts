import type { DataSource } from 'typeorm';
import type { EnqueueOptions } from '../../lib/model/enqueue-options.js';
import {
  InvalidJobTypeError,
  InvalidOptionError,
  InvalidPayloadError,
  PayloadTooLargeError,
  QueueClosedError,
} from '../../lib/model/errors.js';
import type { JobContext } from '../../lib/model/job-context.js';
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

  describe('tick', () => {
    it('runs one job and says true, then false', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      queue.register('noop', (payload) => ran.push(payload));
      await queue.enqueue('noop', '');

      expect(await queue.tick()).toBe(true);
      expect(await queue.tick()).toBe(false);
      expect(ran).toEqual(['']);
    });

    it('deletes a completed job', async () => {
      const queue = await rig.queue();
      queue.register('noop', () => undefined);
      await queue.enqueue('noop');

      await queue.tick();

      expect(await rig.rows()).toEqual([]);
    });

    it('gives 1 first attempt and 2 retries with maxRetries 2, then keeps the row with its error', async () => {
      const queue = await rig.queue({ maxRetries: 2 });
      const attempts: number[] = [];
      queue.register('flaky', (_payload, { attempt }: JobContext) => {
        attempts.push(attempt);
        throw new Error(`boom ${attempt}`);
      });
      await queue.enqueue('flaky');

      await until(async () => (await queue.tick(), attempts.length === 3));
      await until(async () => (await rig.row()).status === 'failed');

      expect(await rig.row()).toMatchObject({ status: 'failed', attempts: 3, max_retries: 2, last_error: 'boom 3' });
      expect(await queue.tick()).toBe(false);
      expect(attempts).toEqual([1, 2, 3]);
    });

    it('makes a failed attempt wait for its backoff, with its error in the row', async () => {
      const queue = await rig.queue({ backoff: { initial: 60_000, max: 60_000 } });
      queue.register('flaky', boom);
      await queue.enqueue('flaky');
      const before = await rig.row();

      expect(await queue.tick()).toBe(true);
      expect(await queue.tick()).toBe(false);

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'pending', attempts: 1, last_error: 'boom', claim_token: null });
      expect(row.next_run_at - before.next_run_at).toBeGreaterThanOrEqual(60_000);
    });

    it('fails a job of an unknown type, retries it and ends it failed with the reason', async () => {
      const queue = await rig.queue({ maxRetries: 1 });
      await queue.enqueue('nobody');

      expect(await queue.tick()).toBe(true);
      await until(async () => (await queue.tick()) || (await rig.row()).status === 'failed');
      await until(async () => (await rig.row()).status === 'failed');

      expect(await rig.row()).toMatchObject({
        status: 'failed',
        attempts: 2,
        last_error: "no handler registered for job type 'nobody'",
      });
    });

    it('runs the oldest due job first', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      queue.register('a', (payload) => ran.push(payload));
      queue.register('b', (payload) => ran.push(payload));
      await queue.enqueue('a', 'second', { runAt: 1_600_000_000_000 });
      await queue.enqueue('b', 'first', { runAt: 999_999_999_999 });
      await queue.enqueue('b', 'third', { runAt: 1_600_000_000_001 });

      while (await queue.tick());

      expect(ran).toEqual(['first', 'second', 'third']);
    });

    it('ends although a job enqueues another one each time', async () => {
      const queue = await rig.queue();
      let runs = 0;
      queue.register('chain', async (left) => {
        runs += 1;
        if (Number(left) > 0) await queue.enqueue('chain', Number(left) - 1);
      });
      await queue.enqueue('chain', 3);

      while (await queue.tick());

      expect(runs).toBe(4);
    });

    it('shares no job between many at once', async () => {
      const queue = await rig.queue();
      const other = await rig.queue();
      const runs = new Map<unknown, number>();
      for (const each of [queue, other]) {
        each.register('once', (payload) => runs.set(payload, (runs.get(payload) ?? 0) + 1));
      }
      await queue.enqueueMany(Array.from({ length: 20 }, (_unused, n) => ({ type: 'once', payload: n })));

      const tickAll = (each: typeof queue): Promise<boolean[]> =>
        Promise.all(Array.from({ length: 15 }, () => each.tick()));
      await Promise.all([tickAll(queue), tickAll(other)]);
      while (await queue.tick());

      expect(runs.size).toBe(20);
      expect([...runs.values()]).toEqual(Array.from({ length: 20 }, () => 1));
    });
  });

  describe('create', () => {
    it('makes the table under the default name with the columns of the original', async () => {
      const queue = await rig.queue();
      await queue.enqueue('a', { n: 1 });

      expect(await rig.row()).toMatchObject({
        job_type: 'a',
        payload: '{"n":1}',
        status: 'pending',
        attempts: 0,
        max_retries: 3,
        last_error: null,
      });
    });

    it('can be called again on the same table', async () => {
      await (await rig.queue()).enqueue('a');

      await rig.queue();

      expect(await rig.rows()).toHaveLength(1);
    });

    it('takes back a row that was left running without a lease', async () => {
      const first = await rig.queue();
      await first.enqueue('a');
      await rig.set("status = 'running'");

      const queue = await rig.queue();
      let runs = 0;
      queue.register('a', () => ++runs);

      expect(await queue.tick()).toBe(true);
      expect(runs).toBe(1);
      expect(await rig.rows()).toEqual([]);
    });

    it('leaves a row alone whose owner is alive', async () => {
      const first = await rig.queue();
      let finish = (): void => undefined;
      first.register('a', () => new Promise<void>((resolve) => (finish = resolve)));
      await first.enqueue('a');
      const running = first.tick();
      await until(async () => (await rig.row()).status === 'running');
      const { claim_token: token } = await rig.row();

      const second = await rig.queue();
      second.register('a', boom);

      expect(await second.tick()).toBe(false);
      expect(await rig.row()).toMatchObject({ status: 'running', claim_token: token, attempts: 0, interruptions: 0 });
      finish();
      await running;
    });

    it.each([
      [{ workers: 0 }, 'persistent.workers'],
      [{ tableName: 'weird "name' }, 'persistent.tableName'],
      [{ pollInterval: 0 }, 'persistent.pollInterval'],
    ])('refuses %j before it touches the database', async (options, message) => {
      await expect(rig.queue(options)).rejects.toThrow(InvalidOptionError);
      await expect(rig.queue(options)).rejects.toThrow(message);
    });
  });

  describe('enqueue', () => {
    it.each([
      ['a string', 'new-user@example.com'],
      ['a number', 42],
      ['false', false],
      ['null', null],
      ['an array', [1, 'two', null]],
      ['an object', { a: { b: ['c'] } }],
      ['emoji and Chinese', { name: '漢字 🎉' }],
      ['a NUL', 'a\0b'],
      ['quotes and backslashes', `a'b"c\`d\\e%f_g--;`],
      ['the text null', 'null'],
      ['undefined', undefined],
    ])('hands the handler what was enqueued: %s', async (_name, payload) => {
      const queue = await rig.queue();
      const seen: unknown[] = [];
      queue.register('look', (value) => seen.push(value));

      await queue.enqueue('look', payload);
      await queue.tick();

      expect(seen).toEqual([payload]);
    });

    it('carries a megabyte', async () => {
      const queue = await rig.queue();
      const big = 'é🎉'.repeat(170_000);
      let seen: unknown;
      queue.register('big', (payload) => (seen = payload));

      await queue.enqueue('big', big);
      await queue.tick();

      expect(seen === big).toBe(true);
    });

    it.each([
      ["a'b"],
      ['a"b'],
      ['a`b'],
      ['a\\b'],
      ['%'],
      ['_'],
      ['--'],
      [';DROP TABLE rws_jobs'],
      ['__proto__'],
      ['漢字'],
    ])('takes %p as the name of a job type', async (type) => {
      const queue = await rig.queue();
      let runs = 0;
      queue.register(type, () => ++runs);

      await queue.enqueue(type);
      await queue.enqueue(`${type}x`);

      await queue.start();
      await until(() => runs === 1);
      await queue.stop();
      expect((await rig.row()).job_type).toBe(`${type}x`);
    });

    it('tells types apart that differ in case only', async () => {
      const queue = await rig.queue();
      const ran: string[] = [];
      queue.register('Sync', () => ran.push('Sync'));
      queue.register('sync', () => ran.push('sync'));

      await queue.enqueue('sync');
      await queue.tick();

      expect(ran).toEqual(['sync']);
    });

    it('gives time-ordered ids', async () => {
      const queue = await rig.queue();
      const ids = [];
      for (let n = 0; n < 20; n++) ids.push(await queue.enqueue('a'));

      expect(ids).toEqual(ids.toSorted());
      expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    it('stores every one of many that are in flight together', async () => {
      const queue = await rig.queue();

      const ids = await Promise.all(Array.from({ length: 300 }, (_unused, n) => queue.enqueue('a', n)));

      const rows = await rig.rows();
      expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      expect(new Set(rows.map(({ payload }) => payload)).size).toBe(300);
    });

    it('takes another number of retries for one job', async () => {
      const queue = await rig.queue({ maxRetries: 7 });

      await queue.enqueue('a');
      await queue.enqueue('b', null, { maxRetries: 0 });
      await queue.enqueueWithRetries('c', 'x', 2);

      expect((await rig.rows()).map((row) => [row.job_type, row.max_retries])).toEqual([
        ['a', 7],
        ['b', 0],
        ['c', 2],
      ]);
    });

    it('makes a delayed job due later, and one of the past now', async () => {
      const queue = await rig.queue();
      const inSixtyDays = Date.now() + 60 * 86_400_000;

      await queue.enqueue('delay', null, { delay: 86_400_000 });
      await queue.enqueue('far', null, { runAt: new Date(inSixtyDays) });
      await queue.enqueue('past', null, { runAt: new Date(1_000) });

      const due = new Map((await rig.rows()).map((row) => [row.job_type, row]));
      const delayed = due.get('delay');
      expect((delayed?.next_run_at ?? 0) - (delayed?.created_at ?? 0)).toBe(86_400_000);
      expect(due.get('far')?.next_run_at).toBe(inSixtyDays);
      expect(due.get('past')?.next_run_at).toBe(1_000);
      queue.register('past', () => undefined);
      expect(await queue.tick()).toBe(true);
      expect(await queue.tick()).toBe(false);
    });

    it.each([
      ['an empty type', '', null, {}, InvalidJobTypeError],
      ['a type of 300 characters', 'x'.repeat(300), null, {}, InvalidJobTypeError],
      ['a function', 'a', { f: () => 1 }, {}, InvalidPayloadError],
      ['a payload above the limit', 'a', 'x'.repeat(1_001), {}, PayloadTooLargeError],
      ['a negative delay', 'a', null, { delay: -5 }, InvalidOptionError],
      ['a moment in seconds', 'a', null, { runAt: 1_900_000_000 }, InvalidOptionError],
      ['an unknown option', 'a', null, { dely: 5 }, InvalidOptionError],
      ['a wrong number of retries', 'a', null, { maxRetries: Number.NaN }, InvalidOptionError],
    ])('refuses %s and writes no row', async (_name, type, payload, options, error) => {
      const queue = await rig.queue({ maxPayloadSize: 1_000 });

      await expect(queue.enqueue(type, payload, options as EnqueueOptions)).rejects.toThrow(error);

      expect(await rig.rows()).toEqual([]);
    });

    it('is refused after close', async () => {
      const queue = await rig.queue();
      await queue.close();
      await queue.close();

      await expect(queue.enqueue('a')).rejects.toThrow(QueueClosedError);
    });
  });

  describe('enqueueMany', () => {
    it('stores all and gives their ids in order', async () => {
      const queue = await rig.queue();

      const ids = await queue.enqueueMany([
        { type: 'a', payload: 1 },
        { type: 'b', payload: 2, delay: 1_000, maxRetries: 9 },
        { type: 'c' },
      ]);

      const rows = await rig.rows();
      expect(ids.map((id) => rows.find((row) => row.id === id)?.job_type)).toEqual(['a', 'b', 'c']);
      expect(rows.find(({ job_type: type }) => type === 'b')).toMatchObject({ payload: '2', max_retries: 9 });
    });

    it.each([
      ['a job', [{ type: 'a' }, { type: '' }], /^jobs\[1\]: a job type must not be empty/],
      ['a payload', [{ type: 'a', payload: new Map() }], /^jobs\[0\]: payload is a Map/],
      ['what is no job', [{ type: 'a' }, null], /^jobs\[1\]: a job is \{ type, payload, …options \}, got null/],
      ['what is no list', 'a', /takes an array of .*, got 'a'/],
    ])('says which one it refuses: %s', async (_what, jobs, message) => {
      const queue = await rig.queue();

      await expect(queue.enqueueMany(jobs as [])).rejects.toThrow(message);
    });

    it('stores none when one is refused', async () => {
      const queue = await rig.queue();

      await expect(queue.enqueueMany([{ type: 'a' }, { type: '' }])).rejects.toThrow(InvalidJobTypeError);

      expect(await rig.rows()).toEqual([]);
    });

    it('stores thousands', async () => {
      const queue = await rig.queue();

      await queue.enqueueMany(Array.from({ length: 5_000 }, (_unused, n) => ({ type: 'a', payload: { n } })));

      expect(await rig.rows()).toHaveLength(5_000);
    });

    it('takes none', async () => {
      const queue = await rig.queue();

      expect(await queue.enqueueMany([])).toEqual([]);
    });
  });

  describe('start and stop', () => {
    it('runs what is there and what comes, at most as many at once as there are workers', async () => {
      const queue = await rig.queue({ workers: 3 });
      let running = 0;
      let most = 0;
      let done = 0;
      queue.register('a', async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        done += 1;
      });
      await queue.enqueueMany(Array.from({ length: 10 }, () => ({ type: 'a' })));

      await queue.start();
      await Promise.all(Array.from({ length: 10 }, () => queue.enqueue('a')));
      await until(() => done === 20);

      expect(most).toBe(3);
      await until(async () => (await rig.rows()).length === 0);
    });

    it('leaves jobs of unknown types alone and is not held up by them', async () => {
      const queue = await rig.queue();
      await queue.enqueueMany(Array.from({ length: 50 }, () => ({ type: 'b' })));
      await queue.enqueueMany(Array.from({ length: 10 }, () => ({ type: 'a' })));
      let runs = 0;
      queue.register('a', () => ++runs);

      await queue.start();
      await until(() => runs === 10);
      await queue.stop();

      const rows = await rig.rows();
      expect(rows).toHaveLength(50);
      expect(rows.every((row) => row.status === 'pending' && row.attempts === 0 && row.interruptions === 0)).toBe(true);
    });

    it('says once which types wait for somebody who knows them', async () => {
      const queue = await rig.queue();
      await queue.enqueueMany([{ type: 'old' }, { type: 'older' }, { type: 'old' }]);

      await queue.start();
      await until(() => rig.sink.lines.length > 0);
      await queue.stop();

      expect(rig.sink.lines).toEqual([
        "warn: jobs wait for a process that knows them; no handler here is registered for job type 'old', 'older'",
      ]);
    });

    it('fails jobs of unknown types where it is told to', async () => {
      const queue = await rig.queue({ unknownTypes: 'fail', maxRetries: 0 });
      await queue.enqueue('nobody');

      await queue.start();
      await until(async () => (await rig.row()).status === 'failed');
    });

    it('runs with no handler at all', async () => {
      const queue = await rig.queue();
      await queue.enqueue('a');

      await queue.start();
      await new Promise((resolve) => setTimeout(resolve, 60));
      await queue.stop();

      expect(rig.sink.lines.filter((line) => line.startsWith('error'))).toEqual([]);
      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0 });
    });

    it('starts a handler that is registered later', async () => {
      const queue = await rig.queue({ pollInterval: 60_000 });
      await queue.enqueue('late');
      await queue.start();
      let runs = 0;

      queue.register('late', () => ++runs);

      await until(() => runs === 1);
    });

    it('wakes at once for a job of its own process', async () => {
      const queue = await rig.queue({ pollInterval: 60_000 });
      let runs = 0;
      queue.register('a', () => ++runs);
      await queue.start();
      await until(async () => (await queue.enqueue('a'), true));

      await until(() => runs === 1);
    });

    it('wakes for the next job after each one', async () => {
      const queue = await rig.queue({ pollInterval: 60_000, workers: 1 });
      let runs = 0;
      queue.register('a', () => ++runs);
      await queue.start();

      for (let n = 1; n <= 5; n++) {
        await queue.enqueue('a');
        await until(() => runs === n);
      }
    });

    it('retries until it works, and waits at least the backoff between attempts', async () => {
      const queue = await rig.queue({ backoff: { initial: 333, multiplier: 1.5 } });
      const starts: number[] = [];
      queue.register('flaky', (_payload, { attempt }: JobContext) => {
        starts.push(Date.now());
        if (attempt < 3) throw new Error('boom');
      });
      await queue.enqueue('flaky');

      await queue.start();
      await until(async () => (await rig.rows()).length === 0);

      expect(starts).toHaveLength(3);
      expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(332);
      expect((starts[2] ?? 0) - (starts[1] ?? 0)).toBeGreaterThanOrEqual(498);
    });

    it.each([1_100, 9_999])('keeps a job with %i failed attempts in a legal state', async (attempts) => {
      const queue = await rig.queue({ maxRetries: 10_000 });
      queue.register('old', boom);
      await queue.enqueue('old');
      await rig.set(`attempts = ${attempts}`);

      await queue.tick();

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'pending', attempts: attempts + 1 });
      expect(Number.isSafeInteger(row.next_run_at)).toBe(true);
    });

    it('counts through two digits', async () => {
      const queue = await rig.queue({ maxRetries: 12 });
      const attempts: unknown[] = [];
      queue.register('flaky', (_payload, { attempt, maxRetries }: JobContext) => {
        attempts.push([attempt, maxRetries]);
        throw new Error('boom');
      });
      await queue.enqueue('flaky');
      await rig.set('attempts = 8');

      await until(async () => (await queue.tick(), (await rig.row()).status === 'failed'));

      expect(attempts).toEqual([
        [9, 12],
        [10, 12],
        [11, 12],
        [12, 12],
        [13, 12],
      ]);
    });

    it('keeps the error of a failed job, cut and free of NUL', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('a', () => {
        throw new Error(`bad\0thing 漢字 ${'x'.repeat(10_000)}`);
      });
      await queue.enqueue('a');

      await queue.tick();

      const row = await rig.row();
      expect(row.last_error?.startsWith('badthing 漢字 xxx')).toBe(true);
      expect(row.last_error?.length).toBe(4_000);
    });

    it('fails a job at once whose payload cannot be read, without showing it', async () => {
      const queue = await rig.queue();
      queue.register('a', () => undefined);
      await queue.enqueue('a');
      await rig.set("payload = 'secret text'");

      await queue.tick();

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'failed', attempts: 1 });
      expect(`${row.last_error} ${rig.sink.lines.join()}`).not.toContain('secret');
    });

    it('lets running jobs finish on stop and claims nothing more', async () => {
      const queue = await rig.queue({ workers: 1 });
      let finish = (): void => undefined;
      let runs = 0;
      queue.register('a', () => {
        runs += 1;
        return new Promise<void>((resolve) => (finish = resolve));
      });
      await queue.enqueueMany([{ type: 'a' }, { type: 'a' }]);
      await queue.start();
      await until(() => runs === 1);

      const stopped = queue.stop();
      finish();
      await stopped;

      expect(runs).toBe(1);
      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
    });

    it('gives back what does not end in time, runnable at once and with no attempt burnt', async () => {
      const queue = await rig.queue({ shutdownTimeout: 20 });
      queue.register('a', (_payload, { signal }: JobContext) => {
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      });
      await queue.enqueue('a', {});
      await queue.start();
      await until(async () => (await rig.row()).status === 'running');

      await queue.stop();

      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0, claim_token: null });
      const other = await rig.queue();
      let runs = 0;
      other.register('a', () => ++runs);
      expect(await other.tick()).toBe(true);
      expect(runs).toBe(1);
    });

    it('leaves a job that ignores the stop to its lease, which then costs no interruption', async () => {
      const queue = await rig.queue({ shutdownTimeout: 10, lease: 300 });
      let finish: (() => void) | undefined;
      queue.register('a', () => new Promise<void>((resolve) => (finish = resolve)));
      await queue.enqueue('a');
      await queue.start();
      await until(() => finish !== undefined);

      await queue.stop();
      expect(await rig.row()).toMatchObject({ status: 'running', attempts: 0 });
      finish?.();

      const other = await rig.queue({ lease: 300 });
      const seen: unknown[] = [];
      other.register('a', async (_payload, { attempt }: JobContext) => {
        seen.push([attempt, (await rig.row()).interruptions]);
      });
      await until(() => other.tick());
      expect(seen).toEqual([[1, 0]]);
    });

    it('runs again after stop and start, with no doubled workers', async () => {
      const queue = await rig.queue({ workers: 1 });
      let running = 0;
      let most = 0;
      let done = 0;
      queue.register('a', async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        done += 1;
      });

      await queue.stop();
      await Promise.all([queue.start(), queue.start()]);
      await Promise.all([queue.stop(), queue.stop()]);
      await queue.start();
      await queue.enqueueMany(Array.from({ length: 6 }, () => ({ type: 'a' })));
      await until(() => done === 6);

      expect(most).toBe(1);
    });

    it('lets a stop win that arrives during a start', async () => {
      const queue = await rig.queue();
      let runs = 0;
      queue.register('a', () => ++runs);
      await queue.enqueue('a');

      const started = queue.start();
      await queue.stop();
      await started;
      await new Promise((resolve) => setTimeout(resolve, 60));

      expect(runs).toBe(0);
    });

    it('runs each job once when tick and workers share the queue', async () => {
      const queue = await rig.queue();
      const runs = new Map<unknown, number>();
      queue.register('a', (payload) => runs.set(payload, (runs.get(payload) ?? 0) + 1));
      await queue.enqueueMany(Array.from({ length: 50 }, (_unused, n) => ({ type: 'a', payload: n })));

      await queue.start();
      while (await queue.tick());
      await until(async () => (await rig.rows()).length === 0);

      expect([...runs.values()]).toEqual(Array.from({ length: 50 }, () => 1));
    });

    it('deletes failed jobs past their retention and nothing else', async () => {
      const queue = await rig.queue({ maxRetries: 0, retention: { failed: 86_400_000 } });
      queue.register('a', boom);
      await queue.enqueueMany(Array.from({ length: 1_200 }, () => ({ type: 'a' })));
      await queue.start();
      await until(async () => (await rig.rows("status = 'failed'")).length === 1_200);
      await queue.stop();
      const [kept] = await rig.rows();
      await rig.set('finished_at = finished_at - 90000000', `id <> '${kept?.id}'`);
      const waiting = await queue.enqueue('other');

      await queue.start();
      await until(async () => (await rig.rows()).length === 2);

      expect(new Set((await rig.rows()).map(({ id }) => id))).toEqual(new Set([kept?.id, waiting]));
    });

    it('keeps failed jobs for ever unless told otherwise', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('a', boom);
      await queue.enqueue('a');
      await queue.tick();
      await rig.set('finished_at = 1');

      await queue.start();
      await new Promise((resolve) => setTimeout(resolve, 60));

      expect((await rig.row()).status).toBe('failed');
    });

    it('writes neither payloads nor parameters to the log', async () => {
      const queue = await rig.queue({ maxRetries: 1 });
      queue.register('leak', boom);
      await queue.enqueue('leak', { token: 'secret-token' });
      await queue.start();
      await until(async () => (await rig.row()).status === 'failed');
      await queue.stop();

      expect(rig.sink.lines.length).toBeGreaterThan(1);
      expect(rig.sink.lines.join()).not.toContain('secret');
    });

    it('words its log lines as the original does', async () => {
      const queue = await rig.queue({ maxRetries: 1, backoff: { initial: 1 } });
      queue.register('flaky', boom);
      const id = await queue.enqueue('flaky');
      await queue.start();
      // The row has failed a moment before that is told.
      await until(() => rig.sink.lines.length >= 2);

      expect(rig.sink.lines).toEqual([
        `warn: persistent job 'flaky' (${id}) failed (attempt 1/2): boom — retrying in 1ms`,
        `error: persistent job 'flaky' (${id}) failed permanently after 2 attempt(s): boom`,
      ]);
    });
  });

  describe('enqueue in a transaction of the caller', () => {
    it('is not seen before the commit and runs after it', async () => {
      const queue = await rig.queue({ pollInterval: 60_000 });
      let runs = 0;
      queue.register('a', () => ++runs);
      await queue.start();

      await dataSource.transaction(async (manager) => {
        await queue.enqueue('a', null, { manager });
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(runs).toBe(0);
      });

      await until(() => runs === 1);
    });

    it('never existed after a rollback', async () => {
      const queue = await rig.queue();
      const failed = dataSource.transaction(async (manager) => {
        await queue.enqueue('a', null, { manager });
        await queue.enqueueMany([{ type: 'b' }], { manager });
        throw new Error('rolled back');
      });

      await expect(failed).rejects.toThrow('rolled back');
      expect(await rig.rows()).toEqual([]);
    });

    it('goes with a savepoint that is rolled back alone', async () => {
      const queue = await rig.queue();

      await dataSource.transaction(async (manager) => {
        await queue.enqueue('outer', null, { manager });
        const inner = manager.transaction(async (nested) => {
          await queue.enqueue('inner', null, { manager: nested });
          throw new Error('only this');
        });
        await expect(inner).rejects.toThrow('only this');
      });

      expect((await rig.rows()).map(({ job_type: type }) => type)).toEqual(['outer']);
    });

    it('does not touch what is enqueued without it at the same time', async () => {
      const queue = await rig.queue();
      let release = (): void => undefined;
      const opened = new Promise<void>((resolve) => (release = resolve));
      const failed = dataSource.transaction(async (manager) => {
        await queue.enqueue('inside', null, { manager });
        release();
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error('rolled back');
      });
      await opened;

      const id = queue.enqueue('outside');

      await expect(failed).rejects.toThrow('rolled back');
      await id;
      expect((await rig.rows()).map(({ job_type: type }) => type)).toEqual(['outside']);
    });
  });
});
