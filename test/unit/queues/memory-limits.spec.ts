import fc from 'fast-check';
import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { Meter } from '../../support/meter.js';
import { until } from '../../support/until.js';

function makeQueue(workers = 4): JobQueue {
  return new JobQueue({ workers, backoff: { initial: 1, multiplier: 1 } }, { sink: new RecordingSink() });
}

describe('the memory queue', () => {
  it('obeys globalConcurrency, and lets other types run beside it', async () => {
    const queue = makeQueue(6);
    const meter = new Meter();
    queue.register('narrow', meter.handler('narrow'), { globalConcurrency: 2 });
    queue.register('wide', meter.handler('wide'));
    for (let index = 0; index < 30; index += 1) {
      queue.submit('narrow', null, { priority: index % 2 });
      queue.submit('wide');
    }

    await queue.join();

    expect([meter.done.get('narrow'), meter.done.get('wide'), meter.most.get('narrow')]).toEqual([30, 30, 2]);
  });

  it('obeys rateLimit, retries included', async () => {
    const queue = makeQueue();
    const starts: number[] = [];
    queue.register(
      'rated',
      (_payload: unknown, job) => {
        starts.push(performance.now());
        if (job.attempt === 1) throw new Error('once more');
      },
      { rateLimit: { limit: 3, window: 60 } },
    );
    for (let index = 0; index < 4; index += 1) queue.submit('rated');

    await queue.join();

    expect(starts).toHaveLength(8);
    for (const from of starts) {
      expect(starts.filter((at) => at >= from && at < from + 60).length).toBeLessThanOrEqual(3);
    }
  });

  it('runs functions of a key one after the other, and others beside them', async () => {
    const queue = makeQueue();
    const ran: string[] = [];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    queue.submit(
      async () => {
        await gate;
        ran.push('first');
      },
      { key: 'ada' },
    );
    queue.submit(() => void ran.push('second'), { key: 'ada' });
    queue.submit(() => void ran.push('other'), { key: 'bob' });
    queue.submit(() => void ran.push('free'));

    await until(() => ran.length === 2);
    open();
    await queue.join();

    expect(ran.toSorted().slice(0, 2)).not.toEqual(ran.slice(0, 2));
    expect(ran.slice(2)).toEqual(['first', 'second']);
  });

  it('lets the next job of a key go when one is cancelled, waiting for a retry or running', async () => {
    const queue = makeQueue();
    const ran: number[] = [];
    queue.register(
      'order',
      async (n: number, job) => {
        ran.push(n);
        if (n === 0) throw new Error('later');
        if (n === 1) await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
      },
      { key: () => 'ada', backoff: { initial: 15_000 } },
    );
    const ids = [0, 1, 2].map((n) => queue.submit('order', n));
    await until(() => ran.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual([0]);

    queue.cancel(ids[0] ?? '');
    await until(() => ran.length === 2);
    queue.cancel(ids[1] ?? '');
    await queue.join();

    expect(ran).toEqual([0, 1, 2]);
  });

  it.each([{ key: 'k' }, {}])(
    'runs what takes the place of a retry at once, and stops without it: %j',
    async (options) => {
      const queue = new JobQueue(
        { shutdownTimeout: 300_000, backoff: { initial: 200_000 } },
        { sink: new RecordingSink() },
      );
      const ran: string[] = [];
      queue.register('work', (name: string) => {
        ran.push(name);
        if (name === 'bad') throw new Error('no');
      });
      const retried = new Promise<void>((resolve) => queue.observe('retried').subscribe(() => resolve()));
      queue.submit('work', 'bad', { ...options, uniqueKey: 'u' });
      await retried;

      queue.submit('work', 'good', { ...options, uniqueKey: 'u', onDuplicate: 'replace' });
      await until(() => ran.length === 2);
      await queue.stop();

      expect(ran).toEqual(['bad', 'good']);
    },
  );

  it('keeps the order of each key, with retries and whatever the mix of keys', async () => {
    const job = fc.record({ key: fc.constantFrom('a', 'b', 'c', undefined), fails: fc.nat({ max: 2 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 20 }), async (jobs) => {
        const queue = makeQueue();
        const done: number[] = [];
        const running = new Set<string>();
        queue.register(
          'order',
          async (n: number, { attempt }) => {
            const key = jobs[n]?.key ?? `own ${n}`;
            expect(running.has(key)).toBe(false);
            running.add(key);
            await Promise.resolve();
            running.delete(key);
            if (attempt <= (jobs[n]?.fails ?? 0)) throw new Error('again');
            done.push(n);
          },
          { key: (n) => jobs[Number(n)]?.key },
        );
        jobs.forEach((_job, n) => queue.submit('order', n));
        await queue.join();

        expect(done).toHaveLength(jobs.length);
        for (const key of ['a', 'b', 'c']) {
          const expected = jobs.flatMap((each, n) => (each.key === key ? [n] : []));
          expect(done.filter((n) => jobs[n]?.key === key)).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});
