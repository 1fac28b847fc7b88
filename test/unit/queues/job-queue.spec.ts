import { AsyncLocalStorage } from 'node:async_hooks';
import { jest } from '@jest/globals';
import {
  InvalidHandlerError,
  InvalidOptionError,
  InvalidPayloadError,
  JobAbortedError,
  QueueClosedError,
  QueueFullError,
  UnknownJobTypeError,
} from '../../../lib/model/errors.js';
import type { JobContext } from '../../../lib/model/job-context.js';
import type { MemoryQueueOptions } from '../../../lib/model/queue-options.js';
import { Discard } from '../../../lib/model/steering.js';
import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { until } from '../../support/until.js';

const quick = { backoff: { initial: 1, max: 5 } };

function setUp(options: MemoryQueueOptions = quick): { queue: JobQueue; sink: RecordingSink } {
  const sink = new RecordingSink();
  return { queue: new JobQueue(options, { sink }), sink };
}

function throwing(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

/** A promise and the way to settle it. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('JobQueue', () => {
  it('runs functions, job objects and payloads of registered types', async () => {
    const { queue } = setUp();
    const ran: unknown[] = [];
    queue.register('greet', (payload) => ran.push(payload));

    queue.submit(() => ran.push('function'));
    queue.submit({ name: 'object', run: () => ran.push('object') });
    queue.submit('greet', { to: 'ada' });
    await queue.join();

    expect(ran).toEqual(['function', 'object', { to: 'ada' }]);
  });

  it('returns from submit before the job has run', async () => {
    const { queue } = setUp();
    let hasRun = false;

    queue.submit(() => (hasRun = true));

    expect(hasRun).toBe(false);
    await queue.join();
    expect(hasRun).toBe(true);
  });

  it('keeps `this` of a job object', async () => {
    const { queue } = setUp();
    class Counter {
      count = 0;
      run(): void {
        this.count += 1;
      }
    }
    const counter = new Counter();

    queue.submit(counter);
    await queue.join();

    expect(counter.count).toBe(1);
  });

  it('copies the payload at submit', async () => {
    const { queue } = setUp();
    const seen: unknown[] = [];
    queue.register('keep', (payload) => seen.push(payload));
    const payload = { n: 1 };

    queue.submit('keep', payload);
    payload.n = 2;
    await queue.join();

    expect(seen).toEqual([{ n: 1 }]);
  });

  it('runs 1 first attempt and 2 retries with maxRetries 2', async () => {
    const { queue } = setUp({ ...quick, maxRetries: 2 });
    const attempts: number[] = [];

    queue.submit(({ attempt }) => {
      attempts.push(attempt);
      throw new Error('boom');
    });
    await queue.join();

    expect(attempts).toEqual([1, 2, 3]);
  });

  it('runs exactly once with maxRetries 0', async () => {
    const { queue } = setUp({ ...quick, maxRetries: 0 });
    let runs = 0;

    queue.submit(() => Promise.reject(new Error(`boom ${++runs}`)));
    await queue.join();

    expect(runs).toBe(1);
  });

  it('stops retrying once an attempt succeeds', async () => {
    const { queue } = setUp();
    let runs = 0;

    queue.submit(() => {
      if (++runs < 3) throw new Error('not yet');
    });
    await queue.join();

    expect(runs).toBe(3);
  });

  it('says in the log what failed, how often, why, and when it is tried again', async () => {
    const { queue, sink } = setUp({ maxRetries: 1, backoff: { initial: 1 } });

    queue.submit({
      name: 'send_welcome_email',
      run: () => {
        throw new Error('mailbox full');
      },
    });
    await queue.join();

    expect(sink.lines).toEqual([
      "warn: 'send_welcome_email' failed (attempt 1/2): mailbox full — retrying in 1ms",
      "error: 'send_welcome_email' failed permanently after 2 attempt(s): mailbox full",
    ]);
  });

  it("calls a function without a name 'job' in the log", async () => {
    const { queue, sink } = setUp({ maxRetries: 0 });

    queue.submit(() => Promise.reject(new Error('boom')));
    await queue.join();

    expect(sink.lines).toEqual(["error: 'job' failed permanently after 1 attempt(s): boom"]);
  });

  it('writes no more of an error into the log than somebody may want to read', async () => {
    const written: string[] = [];
    const keep = (...texts: readonly unknown[]): void => void written.push(texts.join(' '));
    const sink = { debug: keep, log: keep, warn: keep, error: keep };
    const huge = 'x'.repeat(5_000_000);
    const queue = new JobQueue({ maxRetries: 1, backoff: { initial: 1, delay: throwing(huge) } }, { sink });
    queue.observe('failed').subscribe(throwing(huge));
    queue.register('fails', throwing(huge));
    queue.register('discards', () => new Discard(huge));

    queue.submit('fails');
    queue.submit('discards');
    await queue.join();

    // A retry, its complaint, two ends, and the error of who listens.
    expect(written).toHaveLength(5);
    expect(Math.max(...written.map(({ length }) => length))).toBeLessThan(13_000);
  });

  it('never writes a payload to the log', async () => {
    const { queue, sink } = setUp({ ...quick, maxRetries: 1 });
    queue.register('leak', () => {
      throw new Error('boom');
    });

    queue.submit('leak', { token: 'secret-token' });
    await queue.join();

    expect(sink.lines).toHaveLength(2);
    expect(sink.lines.join()).not.toContain('secret');
  });

  it('runs as many jobs at the same time as it has workers', async () => {
    const { queue } = setUp({ workers: 3 });
    const { opened, open } = gate();
    let running = 0;
    let most = 0;

    for (let n = 0; n < 10; n++) {
      queue.submit(async () => {
        most = Math.max(most, ++running);
        await opened;
        running -= 1;
      });
    }
    await until(() => running === 3);
    open();
    await queue.join();

    expect(most).toBe(3);
  });

  it('holds no worker while a job waits for its retry', async () => {
    const { queue } = setUp({ workers: 1, backoff: { initial: 60_000, max: 60_000 }, shutdownTimeout: 0 });
    const ran: string[] = [];

    queue.submit(() => {
      ran.push('fails');
      throw new Error('boom');
    });
    queue.submit(() => ran.push('next'));
    await until(() => ran.length === 2);

    expect(ran).toEqual(['fails', 'next']);
    await queue.stop();
  });

  it('waits at least 500 ms and then at least 1000 ms with the default policy', async () => {
    const { queue } = setUp({});
    const starts: number[] = [];

    queue.submit(({ attempt }) => {
      starts.push(performance.now());
      if (attempt < 3) throw new Error('boom');
    });
    await queue.join();

    // A timer of Node may fire up to a millisecond early.
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(499);
    expect((starts[2] ?? 0) - (starts[1] ?? 0)).toBeGreaterThanOrEqual(999);
  });

  it('tells a handler its id, type, attempt and retries', async () => {
    const { queue } = setUp();
    const seen: unknown[] = [];
    queue.register('look', (_payload, { id, type, attempt, maxRetries, signal }: JobContext) => {
      seen.push({ id, type, attempt, maxRetries, aborted: signal.aborted });
    });

    const id = queue.submit('look');
    await queue.join();

    expect(seen).toEqual([{ id, type: 'look', attempt: 1, maxRetries: 3, aborted: false }]);
  });

  it('starts a delayed job when it is due and not before', async () => {
    jest.useFakeTimers();
    try {
      const { queue } = setUp({ shutdownTimeout: 0 });
      const ran: string[] = [];

      queue.submit(() => ran.push('later'), { delay: 30 * 86_400_000 });
      await jest.advanceTimersByTimeAsync(30 * 86_400_000 - 1);
      expect(ran).toEqual([]);
      await jest.advanceTimersByTimeAsync(1);
      expect(ran).toEqual(['later']);
      await queue.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  it('waits neither longer nor shorter when the time of day is set', async () => {
    let offMs = 0;
    const clock = { now: () => Date.now() + offMs, monotonic: () => performance.now() };
    const queue = new JobQueue({ backoff: { initial: 30 } }, { sink: new RecordingSink(), clock });
    const ran: string[] = [];
    queue.submit(({ attempt }) => {
      ran.push(`attempt ${attempt}`);
      if (attempt === 1) throw new Error('boom');
    });
    queue.submit(() => ran.push('delayed'), { delay: 400 });
    queue.submit(() => ran.push('at a moment'), { runAt: clock.now() + 410 });
    await until(() => ran.length === 1);

    offMs = -3_600_000;
    await until(() => ran.length === 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ran).toEqual(['attempt 1', 'attempt 2', 'delayed']);

    offMs = 0;
    await queue.stop();
  });

  it('starts delayed jobs in the order in which they become due', async () => {
    const { queue } = setUp({ workers: 1 });
    const ran: number[] = [];

    for (const delay of [30, 10, 20]) queue.submit(() => ran.push(delay), { delay });
    await queue.join();

    expect(ran).toEqual([10, 20, 30]);
  });

  it('counts an attempt that takes too long as failed, aborts its signal and frees its worker', async () => {
    const { queue, sink } = setUp({ workers: 1, timeout: 20, maxRetries: 0 });
    const reasons: unknown[] = [];

    queue.submit(({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return new Promise(() => undefined);
    });
    queue.submit(() => reasons.push('next'));
    await queue.join();

    expect(sink.lines).toEqual(["error: 'job' failed permanently after 1 attempt(s): timed out after 20 ms"]);
    expect(reasons[0]).toBeInstanceOf(JobAbortedError);
    expect(reasons[0]).toMatchObject({ code: 'JOBS_ABORTED', reason: 'timeout' });
    expect(reasons[1]).toBe('next');
  });

  it('takes no more than maxQueued waiting jobs', async () => {
    const { queue } = setUp({ workers: 1, maxQueued: 2 });
    const { opened, open } = gate();
    let isRunning = false;
    queue.submit(() => {
      isRunning = true;
      return opened;
    });
    await until(() => isRunning);
    queue.submit(() => undefined);
    queue.submit(() => undefined);

    expect(() => queue.submit(() => undefined)).toThrow(QueueFullError);
    expect(() => queue.submit(() => undefined)).toThrow(/2 waiting jobs.*maxQueued/);
    open();
    await queue.join();
  });

  it('refuses a type without a handler and names those it has', async () => {
    const { queue } = setUp();
    queue.register('known', () => undefined);

    expect(() => queue.submit('constructor', 1)).toThrow(UnknownJobTypeError);
    expect(() => queue.submit('other', 1)).toThrow("no handler is registered for job type 'other'; known are 'known'");
    await queue.join();
  });

  it('refuses what is no job, no payload and no option', async () => {
    const { queue } = setUp();
    queue.register('known', () => undefined);
    const wrong: unknown = 7;

    expect(() => queue.submit(wrong as () => void)).toThrow(InvalidHandlerError);
    expect(() => queue.submit('known', { f: () => 1 })).toThrow(InvalidPayloadError);
    expect(() => queue.submit(() => 1, { delay: -1 })).toThrow(InvalidOptionError);
    await queue.join();
  });

  it('finishes on join what was submitted before and accepts nothing after', async () => {
    const { queue } = setUp({ ...quick, workers: 1 });
    let runs = 0;
    for (let n = 0; n < 5; n++) queue.submit(() => ++runs);

    const joined = queue.join();

    expect(() => queue.submit(() => undefined)).toThrow(QueueClosedError);
    await joined;
    expect(runs).toBe(5);
  });

  it('waits on join for jobs that a job submits by its retry', async () => {
    const { queue } = setUp();
    const ran: string[] = [];

    queue.submit(({ attempt }) => {
      ran.push(`attempt ${attempt}`);
      if (attempt === 1) throw new Error('boom');
    });
    await queue.join();

    expect(ran).toEqual(['attempt 1', 'attempt 2']);
  });

  it('aborts what still runs at the end of shutdownTimeout, drops the rest and says so', async () => {
    const { queue, sink } = setUp({ workers: 1, shutdownTimeout: 20 });
    const reasons: unknown[] = [];
    queue.submit(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason as Error);
          });
        }),
    );
    queue.submit(() => reasons.push('never'));
    await until(() => sink.lines.length === 0);

    await queue.stop();

    expect(reasons).toEqual([expect.objectContaining({ reason: 'shutdown' })]);
    expect(sink.lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn: stopped with 2 job(s) in memory; they are lost',
    ]);
  });

  it('ends a stop although a handler never settles', async () => {
    const { queue, sink } = setUp({ shutdownTimeout: 10 });
    let isRunning = false;
    queue.submit(() => {
      isRunning = true;
      return new Promise(() => undefined);
    });
    await until(() => isRunning);

    await queue.stop();

    expect(sink.lines).toEqual([
      "warn: 'job' did not end when the queue stopped; what it still does is not waited for",
    ]);
  });

  it('lets a stop cut a join short', async () => {
    const { queue } = setUp({ backoff: { initial: 60_000, max: 60_000 }, shutdownTimeout: 10 });
    let runs = 0;
    queue.submit(() => {
      runs += 1;
      throw new Error('boom');
    });
    await until(() => runs === 1);

    const joined = queue.join();
    await queue.stop();

    await joined;
    expect(runs).toBe(1);
  });

  it('runs again after stop and start, without a doubled worker', async () => {
    const { queue } = setUp({ workers: 1 });
    await queue.stop();
    expect(() => queue.submit(() => undefined)).toThrow(QueueClosedError);

    queue.start();
    queue.start();
    let running = 0;
    let most = 0;
    for (let n = 0; n < 4; n++) {
      queue.submit(async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running -= 1;
      });
    }
    await queue.join();

    expect(most).toBe(1);
  });

  it('survives stop twice, stop before start and join twice', async () => {
    const queue = new JobQueue({}, { autoStart: false, sink: new RecordingSink() });
    await Promise.all([queue.stop(), queue.stop()]);
    await Promise.all([queue.join(), queue.join()]);
    await queue.stop();

    expect(() => queue.submit(() => undefined)).toThrow(QueueClosedError);
  });

  it('runs jobs outside of the context of whoever submitted them', async () => {
    const { queue } = setUp();
    const tenant = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];

    tenant.run('acme', () => queue.submit(() => seen.push(tenant.getStore())));
    await queue.join();

    expect(seen).toEqual([undefined]);
  });

  it('lets timers and sockets have their say while it works off a long queue', async () => {
    const { queue } = setUp({ maxQueued: 200_000 });
    let done = 0;
    for (let n = 0; n < 200_000; n++) queue.submit(() => ++done);
    let doneAtFirstTimer = -1;
    setTimeout(() => (doneAtFirstTimer = done), 1);

    await queue.join();

    expect(doneAtFirstTimer).toBeGreaterThanOrEqual(0);
    expect(doneAtFirstTimer).toBeLessThan(200_000);
  });

  it('keeps nothing of jobs that are done', async () => {
    const { queue } = setUp({ maxQueued: 100_000, maxRetries: 0 });
    const collected: WeakRef<object>[] = [];
    for (let n = 0; n < 100; n++) {
      const big = { n };
      collected.push(new WeakRef(big));
      queue.submit(({ signal }) => {
        signal.addEventListener('abort', () => big);
        if (n % 2 === 0) throw new Error('boom');
      });
    }
    await queue.join();

    await new Promise((resolve) => setImmediate(resolve));
    (globalThis as { gc?: () => void }).gc?.();

    // Without --expose-gc nothing can be said; scripts/test.mjs sets it.
    const alive = collected.filter((ref) => ref.deref() !== undefined).length;
    expect((globalThis as { gc?: () => void }).gc === undefined || alive <= 1).toBe(true);
  });

  it('refuses bad options at once', () => {
    expect(() => new JobQueue({ workers: 0 })).toThrow(InvalidOptionError);
  });

  describe('cancel', () => {
    it('keeps a waiting job from running, wherever it waits', async () => {
      const { queue } = setUp({ ...quick, workers: 1 });
      const ran: string[] = [];
      const hold = gate();
      queue.submit(() => hold.opened);
      const next = queue.submit(() => ran.push('next'));
      const later = queue.submit(() => ran.push('later'), { delay: 10 });
      queue.submit(() => ran.push('other'));

      expect([next, later].map((id) => queue.cancel(id).result)).toEqual(['done', 'done']);
      hold.open();
      await queue.join();

      expect(ran).toEqual(['other']);
    });

    it('keeps a job from running that was taken out of the store already', async () => {
      const { queue } = setUp({ ...quick, workers: 1 });
      const ran: number[] = [];
      const hold = gate();
      const ids = Array.from({ length: 100 }, (_unused, n) =>
        queue.submit(async () => {
          ran.push(n);
          if (n === 10) await hold.opened;
        }),
      );
      await until(() => ran.includes(10));

      for (const id of ids.slice(11)) queue.cancel(id);
      hold.open();
      await queue.join();

      expect(ran).toEqual(Array.from({ length: 11 }, (_unused, n) => n));
    });

    it('aborts the signal of a running job, and lets no retry follow', async () => {
      const { queue, sink } = setUp();
      const reasons: unknown[] = [];
      let runs = 0;
      const id = queue.submit(({ signal }) => {
        runs += 1;
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason as Error);
          });
        });
      });
      await until(() => runs === 1);

      expect(queue.cancel(id)).toEqual({ result: 'done', from: 'running' });
      await queue.join();

      expect(reasons).toEqual([expect.objectContaining({ reason: 'cancelled' })]);
      expect(runs).toBe(1);
      expect(sink.lines).toEqual([expect.stringContaining('was cancelled')]);
    });

    it('ends the wait for a retry', async () => {
      const { queue } = setUp({ backoff: { initial: 600_000, max: 600_000 } });
      let runs = 0;
      const id = queue.submit(() => {
        runs += 1;
        throw new Error('boom');
      });
      await until(() => runs === 1 && queue.cancel(id).result === 'done');

      await queue.join();

      expect(runs).toBe(1);
    });

    it('finds nothing of a job that is over or never was', async () => {
      const { queue } = setUp();
      const id = queue.submit(() => undefined);
      await queue.join();

      expect(queue.cancel(id)).toEqual({ result: 'notFound' });
      expect(queue.cancel('memory-99')).toEqual({ result: 'notFound' });
    });
  });
});
