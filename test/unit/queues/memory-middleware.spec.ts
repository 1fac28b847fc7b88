import {
  InvalidOptionError,
  JobQueue,
  MiddlewareError,
  type EnqueuedJob,
  type JobMiddleware,
  UnknownJobTypeError,
} from 'nestjs-jobs';
import { RecordingSink } from '../../support/recording-sink.js';

const quick = { maxRetries: 0 };

async function run(queue: JobQueue, ...work: readonly (() => unknown)[]): Promise<void> {
  for (const each of work) queue.submit(each);
  await queue.join();
}

describe('middleware of a memory queue', () => {
  it('sees functions, job objects and payloads', async () => {
    const seen: EnqueuedJob[] = [];
    const queue = new JobQueue({ ...quick, middleware: [{ enqueue: (jobs, next) => (seen.push(...jobs), next()) }] });
    queue.register('typed', () => undefined);

    queue.submit(() => undefined, { delay: 1 });
    queue.submit({ name: 'named', run: () => undefined });
    queue.submit('typed', { a: 1 });
    await queue.join();

    expect(seen).toEqual([
      { queue: 'memory', type: 'job', payload: undefined, options: { delay: 1 } },
      { queue: 'memory', type: 'named', payload: undefined, options: {} },
      { queue: 'memory', type: 'typed', payload: { a: 1 }, options: {} },
    ]);
  });

  it('goes around the submission and the attempt, the first one outermost', async () => {
    const log: string[] = [];
    const named = (name: string): JobMiddleware => ({
      enqueue(_jobs, next) {
        log.push(`enqueue ${name}`);
        return next();
      },
      async run(_job, next) {
        log.push(`run ${name}`);
        await next();
      },
    });
    const queue = new JobQueue({ ...quick, middleware: [named('a'), named('b')] });

    await run(queue, () => log.push('work'));

    expect(log).toEqual(['enqueue a', 'enqueue b', 'run a', 'run b', 'work']);
  });

  it('may be asynchronous after next', async () => {
    const log: string[] = [];
    const timing: JobMiddleware = {
      async enqueue(_jobs, next) {
        await next();
        log.push('submitted');
      },
    };
    const queue = new JobQueue({ ...quick, middleware: [timing] });

    await run(queue, () => log.push('work'));

    expect(log).toEqual(['submitted', 'work']);
  });

  it('refuses a job by throwing', async () => {
    const refuse: JobMiddleware = {
      enqueue: () => {
        throw new Error('not today');
      },
    };
    const queue = new JobQueue({ ...quick, middleware: [refuse] });

    expect(() => queue.submit(() => undefined)).toThrow('not today');
    await queue.join();
  });

  it('hears of what keeps a job from being taken, and the caller does as well', async () => {
    const errors: unknown[] = [];
    const catching: JobMiddleware = { enqueue: (_jobs, next) => next().catch((error: unknown) => errors.push(error)) };
    const queue = new JobQueue({ ...quick, middleware: [catching] });

    expect(() => queue.submit('nobody')).toThrow(UnknownJobTypeError);
    await queue.join();

    expect(errors).toEqual([expect.any(UnknownJobTypeError)]);
  });

  it.each<[string, JobMiddleware, string]>([
    ['does not call next', { enqueue: () => undefined }, 'without having called next'],
    [
      'calls next after it has awaited something',
      { enqueue: async (_jobs, next) => (await Promise.resolve(), next()) },
      'without having called next',
    ],
    ['calls next twice', { enqueue: (_jobs, next) => Promise.all([next(), next()]) }, 'twice'],
  ])('throws when it %s', async (_what, middleware, message) => {
    const sink = new RecordingSink();
    const queue = new JobQueue({ ...quick, middleware: [middleware] }, { sink });

    expect(() => queue.submit(() => undefined)).toThrow(MiddlewareError);
    expect(() => queue.submit(() => undefined)).toThrow(message);
    await queue.join();
    await new Promise((resolve) => setImmediate(resolve));

    expect(sink.lines).toEqual([]);
  });

  it('does not take a job after all whose middleware calls next too late', async () => {
    let runs = 0;
    const late: JobMiddleware = { enqueue: async (_jobs, next) => (await Promise.resolve(), next()) };
    const queue = new JobQueue({ ...quick, middleware: [late] });

    expect(() => queue.submit(() => (runs += 1))).toThrow(MiddlewareError);
    await new Promise((resolve) => setImmediate(resolve));
    await queue.join();

    expect(runs).toBe(0);
  });

  it('is logged when it fails after the submission', async () => {
    const late: JobMiddleware = {
      async enqueue(_jobs, next) {
        await next();
        throw new Error('late');
      },
    };
    const sink = new RecordingSink();
    const queue = new JobQueue({ ...quick, middleware: [late] }, { sink });

    await run(queue, () => undefined);

    expect(sink.lines).toEqual(['error: a middleware failed after its job had been submitted: late']);
  });

  it.each<[string, unknown, string]>([
    ['no array', {}, 'middleware must be an array, got an object'],
    ['nothing', [undefined], 'middleware[0] must be an object with a method enqueue, or run, or both, got undefined'],
    ['an object without methods', [{ run() {} }, {}], 'middleware[1] must be'],
    [
      'a class',
      [
        class {
          run(): void {}
        },
      ],
      'classes can be given to JobsModule',
    ],
  ])('must not be %s', (_what, middleware, message) => {
    const make = (): unknown => new JobQueue({ middleware: middleware as JobMiddleware[] });

    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });
});
