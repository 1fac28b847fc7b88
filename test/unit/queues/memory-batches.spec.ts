import type { JobBatch } from '../../../lib/model/batch.js';
import { InvalidOptionError, QueueFullError, UnknownJobTypeError } from '../../../lib/model/errors.js';
import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { until } from '../../support/until.js';

describe('JobQueue', () => {
  let queue: JobQueue;
  let ran: unknown[];
  let followed: (JobBatch | undefined)[];

  beforeEach(() => {
    queue = new JobQueue(
      { maxQueued: 10, maxRetries: 1, backoff: { initial: 1, max: 1 } },
      { sink: new RecordingSink() },
    );
    [ran, followed] = [[], []];
    queue.register('work', (payload) => ran.push(payload));
    queue.register('done', (payload, { batch }) => {
      ran.push(payload);
      followed.push(batch);
    });
  });

  afterEach(() => queue.join());

  const bad = { name: 'bad', run: (): never => fail('boom') };
  const follow = {
    onComplete: { type: 'done', payload: 'completed' },
    onFailure: { type: 'done', payload: 'failed' },
  };

  function fail(message: string): never {
    throw new Error(message);
  }

  it('runs what follows when all jobs of a batch have completed, retries included', async () => {
    let tries = 0;
    const { id, jobIds } = queue.submitBatch(
      [
        { type: 'work', payload: 1 },
        () => (++tries === 1 ? fail('once') : ran.push('f')),
        { run: () => ran.push('o') },
      ],
      follow,
    );

    expect(jobIds).toHaveLength(3);
    expect(queue.batch(id)).toMatchObject({ state: 'open', total: 3, completed: 0, failed: 0 });
    await queue.join();

    expect(ran).toEqual([1, 'o', 'f', 'completed']);
    expect(followed).toEqual([{ id, total: 3, completed: 3, failed: 0 }]);
    expect(queue.batch(id)).toBeUndefined();
  });

  it('runs what follows a failure when all jobs are over, however they end', async () => {
    const { id, jobIds } = queue.submitBatch(
      [bad, { type: 'work', payload: 1, delay: 600_000 }, () => ran.push(2)],
      follow,
    );
    await until(() => queue.batch(id)?.failed === 1);
    expect(queue.batch(id)).toMatchObject({ total: 3, completed: 1, failed: 1 });

    queue.cancel(jobIds[1] ?? '');
    await queue.join();

    expect(ran).toEqual([2, 'failed']);
    expect(followed).toEqual([{ id, total: 3, completed: 1, failed: 2 }]);
  });

  it('tells a batch of a running job that is cancelled', async () => {
    const { id, jobIds } = queue.submitBatch(
      [({ signal }) => new Promise((r) => signal.addEventListener('abort', r))],
      follow,
    );
    await new Promise((resolve) => setImmediate(resolve));

    queue.cancel(jobIds[0] ?? '');
    await queue.join();

    expect(followed).toEqual([{ id, total: 1, completed: 0, failed: 1 }]);
  });

  it('runs a chain step by step, and join waits for all of it', async () => {
    const { id } = queue.submitChain(
      [() => ran.push(1), [() => ran.push(2), () => ran.push(2)], () => ran.push(3)],
      follow,
    );
    await queue.join();

    expect(ran).toEqual([1, 2, 2, 3, 'completed']);
    expect(followed).toEqual([{ id, total: 4, completed: 4, failed: 0 }]);
  });

  it('ends a chain with a job that fails', async () => {
    queue.submitChain([() => ran.push(1), bad, () => ran.push(3)], follow);
    await queue.join();

    expect(ran).toEqual([1, 'failed']);
    expect(followed).toMatchObject([{ total: 3, completed: 1, failed: 1 }]);
  });

  it('completes a batch at once that has no job of its own', async () => {
    queue.submit('work', 0, { uniqueKey: 'k', delay: 5 });
    queue.submitBatch([{ type: 'work', payload: 1, uniqueKey: 'k' }], follow);
    queue.submitBatch([], follow);
    await queue.join();

    expect(followed).toMatchObject([{ total: 0 }, { total: 0 }]);
    expect(ran).toEqual(['completed', 'completed', 0]);
  });

  it('takes all jobs or none', async () => {
    expect(() => queue.submitBatch([() => ran.push(1), { type: 'nobody' }])).toThrow(UnknownJobTypeError);
    expect(() => queue.submitBatch([() => ran.push(1), { type: 'nobody' }])).toThrow(/^jobs\[1\]: /);
    expect(() => queue.submitBatch(Array.from({ length: 11 }, () => () => 0))).toThrow(QueueFullError);
    expect(() => queue.submitBatch('x' as never)).toThrow(InvalidOptionError);
    expect(() => queue.submitChain([() => 0, 7 as never])).toThrow(/^steps\[1\]: /);
    expect(() => queue.submitBatch([() => 0], { onDone: 1 } as never)).toThrow(/onDone/);
    await queue.join();

    expect(ran).toEqual([]);
  });

  it('shows middleware all jobs of a batch', async () => {
    const seen: unknown[] = [];
    const enqueue = (jobs: readonly unknown[], next: () => Promise<void>): Promise<void> => {
      seen.push(jobs);
      return next();
    };
    const watched = new JobQueue({ middleware: [{ enqueue }] }, { sink: new RecordingSink() });
    watched.register('work', () => undefined);

    watched.submitBatch([() => 0, { type: 'work', payload: 1, priority: 3 }], {
      onComplete: { name: 'after', run: () => 0 },
    });
    await watched.join();

    expect(seen).toEqual([
      [
        { queue: 'memory', type: 'job', payload: undefined, options: {} },
        { queue: 'memory', type: 'work', payload: 1, options: { priority: 3 } },
        { queue: 'memory', type: 'after', payload: undefined, options: {} },
      ],
    ]);
  });
});
