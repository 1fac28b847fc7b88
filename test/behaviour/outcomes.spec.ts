import { decodeHistory, type AttemptRecord } from '../../lib/model/attempt-history.js';
import type { HandlerPolicyOptions } from '../../lib/model/handler-policy.js';
import type { JobContext } from '../../lib/model/job-context.js';
import { Discard, RetryAfter, Snooze } from '../../lib/model/steering.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const hour = 3_600_000;

/** Both ways in which a handler can say how its attempt ends. */
const ways: readonly [way: string, end: (steering: Error) => unknown][] = [
  [
    'thrown',
    (steering) => {
      throw steering;
    },
  ],
  ['returned', (steering) => Promise.resolve(steering)],
];

forEachDatabase((database) => {
  let rig: QueueRig;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  /** Runs the one job of a handler once. */
  async function runOnce(handler: () => unknown, policy?: HandlerPolicyOptions): Promise<void> {
    queue.register('work', handler, policy);
    await queue.enqueue('work');
    expect(await queue.tick()).toBe(true);
  }

  async function history(): Promise<readonly AttemptRecord[]> {
    return decodeHistory((await rig.row()).history);
  }

  describe.each(ways)('a steering that is %s', (_way, end) => {
    beforeEach(async () => {
      queue = await rig.queue({ backoff: { kind: 'fixed', initial: 7 * hour, max: 7 * hour } });
    });

    it('RetryAfter: counts the attempt and waits so long instead of the backoff', async () => {
      await runOnce(() => end(new RetryAfter(2 * hour, 'the server is busy')));

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'pending', attempts: 1, last_error: 'the server is busy' });
      expect(row.next_run_at - Date.now()).toBeGreaterThan(hour);
      expect(row.next_run_at - Date.now()).toBeLessThan(3 * hour);
    });

    it('RetryAfter: fails the job that has no retry left', async () => {
      await runOnce(() => end(new RetryAfter(1)), { maxRetries: 0 });

      expect(await rig.row()).toMatchObject({ status: 'failed', attempts: 1 });
    });

    it('Discard: fails the job now, with its reason', async () => {
      await runOnce(() => end(new Discard('the user is gone')));

      expect(await rig.row()).toMatchObject({ status: 'failed', attempts: 1, last_error: 'the user is gone' });
      expect(await queue.tick()).toBe(false);
    });

    it('Snooze: puts the job off and counts nothing', async () => {
      await runOnce(() => end(new Snooze(2 * hour)));

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0, last_error: null });
      expect(row.next_run_at - Date.now()).toBeGreaterThan(hour);
      expect(await history()).toMatchObject([{ attempt: 1, outcome: 'snoozed', error: 'the handler put the job off' }]);
    });

    it('Snooze: does not come back at once, however often it is said', async () => {
      await runOnce(() => end(new Snooze(0)));

      expect(await queue.tick()).toBe(false);
      await rig.set('next_run_at = 1');
      expect(await queue.tick()).toBe(true);
      expect(await queue.tick()).toBe(false);
      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0 });
    });
  });

  it('an impossible wait is an ordinary failure that says so', async () => {
    queue = await rig.queue();

    await runOnce(() => {
      throw new Snooze(Number('soon'));
    });

    expect(await rig.row()).toMatchObject({
      status: 'pending',
      attempts: 1,
      last_error: expect.stringContaining('the ms of Snooze must be a number from 0 to'),
    });
  });

  describe('backoff', () => {
    it('is what a function makes of attempt and error', async () => {
      queue = await rig.queue({ backoff: (attempt, error) => (String(error).includes('busy') ? attempt * hour : 0) });

      await runOnce(() => {
        throw new Error('busy');
      });

      expect((await rig.row()).next_run_at - Date.now()).toBeGreaterThan(hour / 2);
    });

    it.each([Number.NaN, -1, Infinity, 'soon', undefined])(
      'is the other settings where the function returns %p, which is said once',
      async (wait) => {
        queue = await rig.queue({ backoff: { delay: () => wait as number, initial: hour } });
        await runOnce(() => {
          throw new Error('boom');
        });
        await queue.enqueue('work');
        await queue.tick();

        for (const row of await rig.rows()) {
          expect(row).toMatchObject({ status: 'pending', attempts: 1, last_error: 'boom' });
          expect(row.next_run_at - Date.now()).toBeGreaterThan(hour / 2);
          expect(decodeHistory(row.history)[0]?.error).toMatch(/^boom; the backoff function returned /);
        }
        expect(rig.sink.lines.filter((text) => text.includes('the backoff function returned'))).toHaveLength(1);
      },
    );
  });

  describe('the history', () => {
    it('has every attempt of a job with its end, its duration and its error', async () => {
      queue = await rig.queue({ maxRetries: 2 });
      const ends = [
        new Snooze(0, 'not yet'),
        new Error('first'),
        new RetryAfter(0, 'second'),
        new Error('third \n "quoted" ünï'),
      ];
      queue.register('work', () => {
        throw ends.shift() ?? new Error('too often');
      });
      await queue.enqueue('work');
      const before = Date.now() - 60_000;

      await until(async () => {
        await queue.tick();
        const isOver = (await rig.row()).status === 'failed';
        if (!isOver) await rig.set('next_run_at = 1', "status = 'pending'");
        return isOver;
      });

      const records = await history();
      expect(records).toMatchObject([
        { attempt: 1, outcome: 'snoozed', error: 'not yet' },
        { attempt: 1, outcome: 'retried', error: 'first' },
        { attempt: 2, outcome: 'retried', error: 'second' },
        { attempt: 3, outcome: 'failed', error: 'third \n "quoted" ünï' },
      ]);
      for (const { endedAt, durationMs } of records) {
        expect(endedAt).toBeGreaterThan(before);
        expect(durationMs).toBeGreaterThanOrEqual(0);
      }
    });

    it('has a line for an attempt that a stop took back, and none for a job that only waited', async () => {
      queue = await rig.queue({ shutdownTimeout: 0 });
      let isRunning = false;
      queue.register('work', (_payload, { signal }) => {
        isRunning = true;
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      });
      await queue.enqueueMany([{ type: 'work' }, { type: 'work' }]);
      await queue.start(1);
      await until(() => isRunning);

      await queue.stop();

      const records = (await rig.rows()).flatMap((row) => decodeHistory(row.history));
      expect(records).toMatchObject([{ attempt: 1, outcome: 'released' }]);
      expect((await rig.rows()).map(({ attempts }) => attempts)).toEqual([0, 0]);
    });
  });

  describe('results', () => {
    it('are not kept by default, nor are their rows', async () => {
      queue = await rig.queue();

      await runOnce(() => ({ sent: true }));

      expect(await rig.rows()).toEqual([]);
    });

    it('are kept with the row for as long as retention says', async () => {
      queue = await rig.queue({ retention: { completed: hour } });

      await runOnce(() => ({ sent: ['ünï', 1, null] }));

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'completed', attempts: 0, claim_token: null });
      expect(JSON.parse(row.result ?? '')).toEqual({ sent: ['ünï', 1, null] });
      expect(Number(row.keep_until) - Number(row.finished_at)).toBe(hour);
      expect(await history()).toMatchObject([{ attempt: 1, outcome: 'completed' }]);
      expect(await queue.tick()).toBe(false);
    });

    it('are left out where JSON cannot carry them, and the job is done all the same', async () => {
      queue = await rig.queue({ retention: { completed: 'forever' } });

      await runOnce(() => ({ at: new Date() }));

      expect(await rig.row()).toMatchObject({ status: 'completed', result: null });
      expect((await history())[0]?.error).toMatch(/^result\.at is a Date: /);
      expect(rig.sink.lines.join('\n')).toMatch(/its result was not stored: result\.at is a Date/);
    });

    it('are stored although they are many and large', async () => {
      queue = await rig.queue({ retention: { completed: 'forever' } });
      queue.register('work', () => 'x'.repeat(65_000));
      await queue.enqueueMany(Array.from({ length: 100 }, () => ({ type: 'work' })));

      await queue.start();

      await until(async () => (await rig.rows("status = 'completed'")).length === 100);
      expect((await rig.rows()).every(({ result }) => result?.length === 65_002)).toBe(true);
    });

    it('go when their time is over, and failed jobs stay', async () => {
      queue = await rig.queue({ retention: { completed: 1 } });
      queue.register('fine', () => 1);
      queue.register('bad', () => new Discard('bad'));
      await queue.enqueueMany([{ type: 'fine' }, { type: 'bad' }]);
      while (await queue.tick());
      await until(async () => Number((await rig.row("status = 'completed'")).keep_until) < Date.now() - 5);

      await queue.start();

      await until(async () => (await rig.rows("status = 'completed'")).length === 0);
      expect(await rig.row()).toMatchObject({ status: 'failed' });
    });
  });

  describe('the timeout of a job', () => {
    const untilAborted = (_payload: unknown, { signal }: JobContext): Promise<void> =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

    it('wins over that of its handler and of the queue', async () => {
      queue = await rig.queue({ timeout: hour, handlers: { work: { timeout: hour } } });
      queue.register('work', untilAborted, { timeout: hour });
      await queue.enqueueMany([{ type: 'work', timeout: 5, maxRetries: 0 }]);

      expect(await queue.tick()).toBe(true);

      expect(await rig.row()).toMatchObject({ status: 'failed', last_error: expect.stringMatching(/time/) });
    });

    it('may be none', async () => {
      queue = await rig.queue({ timeout: 1 });
      queue.register('work', () => new Promise((resolve) => setTimeout(resolve, 50)));
      await queue.enqueue('work', undefined, { timeout: 0 });

      expect(await queue.tick()).toBe(true);

      expect(await rig.rows()).toEqual([]);
    });
  });

  describe('the policy of a handler', () => {
    const forOne: HandlerPolicyOptions = { maxRetries: 1, retention: { completed: hour, failed: 2 * hour } };

    it('says how long its rows are kept', async () => {
      queue = await rig.queue();
      queue.register('fine', () => 1, forOne);
      queue.register('bad', () => new Discard('bad'), forOne);
      await queue.enqueueMany([{ type: 'fine' }, { type: 'bad' }]);

      while (await queue.tick());

      const kept = (await rig.rows()).map((row) => [row.status, Number(row.keep_until) - Number(row.finished_at)]);
      expect(Object.fromEntries(kept)).toEqual({ completed: hour, failed: 2 * hour });
    });

    it('says so of jobs that expired or were cancelled too', async () => {
      queue = await rig.queue({
        retention: { cancelled: 1 },
        handlers: { "o'dd": { retention: { cancelled: 'forever' } } },
      });
      queue.register('late', () => 1, forOne);
      queue.register('mine', () => 1, { retention: { cancelled: 3 * hour } });
      const late = await queue.enqueue('late', undefined, { expiresIn: 60_000 });
      await rig.set('expires_at = 1', `id = '${late}'`);
      for (const type of ['mine', "o'dd", 'other']) await queue.cancel(await queue.enqueue(type));

      while (await queue.tick());

      const kept = (await rig.rows()).map((row) => [
        row.job_type,
        row.keep_until === null ? null : row.keep_until - Number(row.finished_at),
      ]);
      expect(Object.fromEntries(kept)).toEqual({
        late: 2 * hour,
        mine: 3 * hour,
        "o'dd": 5_000_000_000_000_000,
        other: null,
      });
    });

    it('wins over the queue, the option handlers over it, and the job over all', async () => {
      queue = await rig.queue({
        maxRetries: 9,
        retention: { completed: 'forever' },
        handlers: { work: { maxRetries: 2, retention: { completed: 0 } }, other: {} },
      });
      queue.register('work', () => 1, forOne);
      queue.register('other', () => 1, forOne);
      await queue.enqueue('work', 'option');
      await queue.enqueue('work', 'job', { maxRetries: 5 });
      await queue.enqueue('other', 'handler');
      await queue.enqueue('third', 'queue');

      const retries = (await rig.rows()).map(({ payload, max_retries }) => [JSON.parse(payload), max_retries]);
      expect(Object.fromEntries(retries)).toEqual({ option: 2, job: 5, handler: 1, queue: 9 });
      queue.register('third', () => 1);
      while (await queue.tick());
      expect((await rig.rows()).map(({ job_type }) => job_type).toSorted()).toEqual(['other', 'third']);
    });
  });
});
