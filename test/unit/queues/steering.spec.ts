import type { JobContext } from '../../../lib/model/job-context.js';
import type { MemoryQueueOptions } from '../../../lib/model/queue-options.js';
import { Discard, RetryAfter, Snooze } from '../../../lib/model/steering.js';
import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';

function setUp(options: MemoryQueueOptions): { queue: JobQueue; sink: RecordingSink } {
  const sink = new RecordingSink();
  return { queue: new JobQueue(options, { sink }), sink };
}

describe('JobQueue, steered by its jobs', () => {
  it('waits as RetryAfter says, however long the backoff is', async () => {
    const { queue } = setUp({ backoff: { initial: 3_600_000 } });
    const attempts: number[] = [];
    queue.submit(({ attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new RetryAfter(1);
      return attempt === 2 ? new RetryAfter(1) : undefined;
    });

    await queue.join();

    expect(attempts).toEqual([1, 2, 3]);
  });

  it('drops a discarded job with its reason', async () => {
    const { queue, sink } = setUp({ backoff: { initial: 1 } });
    let runs = 0;
    queue.submit(() => {
      runs += 1;
      throw new Discard('no such user');
    });

    await queue.join();

    expect(runs).toBe(1);
    expect(sink.lines).toEqual(["error: 'job' failed permanently after 1 attempt(s): no such user"]);
  });

  it('counts no attempt for a snooze', async () => {
    const { queue, sink } = setUp({ maxRetries: 0 });
    const attempts: number[] = [];
    queue.submit(({ attempt }: JobContext) => {
      attempts.push(attempt);
      return attempts.length < 2 ? new Snooze(0) : undefined;
    });

    await queue.join();

    expect(attempts).toEqual([1, 1]);
    expect(sink.lines).toEqual(["debug: 'job' was put off for 1s"]);
  });

  it('heeds what its option handlers says of a type: over the handler, under the job', async () => {
    const handlers = { send: { maxRetries: 1 }, named: { maxRetries: 2 } };
    const { queue } = setUp({ maxRetries: 7, backoff: { initial: 1, max: 1 }, handlers });
    const runs: Record<string, number> = {};
    const fail = (name: unknown): never => {
      runs[String(name)] = (runs[String(name)] ?? 0) + 1;
      throw new Error('boom');
    };
    queue.register('send', (name) => fail(name), { maxRetries: 5 });
    queue.register('own', (name) => fail(name), { maxRetries: 3 });

    queue.submit('send', 'option');
    queue.submit('send', 'job', { maxRetries: 0 });
    queue.submit('own', 'handler');
    queue.submit({ name: 'named', run: () => fail('object') });
    await queue.join();

    expect(runs).toEqual({ option: 2, job: 1, handler: 4, object: 3 });
  });

  it('refuses a policy that makes no sense', () => {
    const { queue } = setUp({});

    expect(() => queue.register('send', () => 1, { timeout: Number.NaN })).toThrow(
      "register('send'): timeout must be a duration in whole milliseconds from 0 to 3153600000000, got NaN",
    );
    expect(() => queue.register('send', () => 1, { retries: 1 } as object)).toThrow(
      "the options of register('send') have no option 'retries'",
    );
    expect(queue.handlers.types()).toEqual([]);
  });
});
