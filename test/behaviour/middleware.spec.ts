import { MiddlewareError, type EnqueuedJob, type JobMiddleware } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';

/** What happened, in order. */
let log: unknown[] = [];

beforeEach(() => {
  log = [];
});

/** Middleware that says when it is entered and left. */
function named(name: string): JobMiddleware {
  return {
    async enqueue(jobs, next) {
      log.push(`> enqueue ${name} ${jobs.map(({ type }) => type).join()}`);
      await next();
      log.push(`< enqueue ${name}`);
    },
    async run(job, next) {
      log.push(`> run ${name} ${job.type} ${job.attempt}`);
      await next();
      log.push(`< run ${name}`);
    },
  };
}

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

  describe('middleware around enqueue', () => {
    it('goes around each call, the first one outermost', async () => {
      const queue = await rig.queue({ middleware: [named('a'), named('b')] });

      await queue.enqueue('work');
      await queue.enqueueMany([{ type: 'x' }, { type: 'y' }]);

      expect(log).toEqual([
        '> enqueue a work',
        '> enqueue b work',
        '< enqueue b',
        '< enqueue a',
        '> enqueue a x,y',
        '> enqueue b x,y',
        '< enqueue b',
        '< enqueue a',
      ]);
      expect(await rig.rows()).toHaveLength(3);
    });

    it('sees what the caller gives', async () => {
      const seen: EnqueuedJob[] = [];
      const queue = await rig.queue({ middleware: [{ enqueue: (jobs, next) => (seen.push(...jobs), next()) }] });

      const id = await queue.enqueue('work', { a: 1 }, { delay: 5 });
      const [other] = await queue.enqueueMany([{ type: 'work', payload: 2, maxRetries: 1 }]);

      expect(seen).toEqual([
        { queue: 'persistent', type: 'work', payload: { a: 1 }, options: { delay: 5 } },
        { queue: 'persistent', type: 'work', payload: 2, options: { maxRetries: 1 } },
      ]);
      expect((await rig.rows()).map((row) => row.id).toSorted()).toEqual([id, String(other)].toSorted());
    });

    it('refuses jobs by throwing: nothing is stored', async () => {
      const refuse: JobMiddleware = { enqueue: () => Promise.reject(new Error('not today')) };
      const queue = await rig.queue({ middleware: [refuse] });

      await expect(queue.enqueue('work')).rejects.toThrow('not today');
      await expect(queue.enqueueMany([{ type: 'work' }])).rejects.toThrow('not today');

      expect(await rig.rows()).toEqual([]);
    });

    it('hears of what keeps a job from being stored, and cannot make it undone', async () => {
      const errors: unknown[] = [];
      const curious: JobMiddleware = { enqueue: (_jobs, next) => next().catch((error: unknown) => errors.push(error)) };
      const queue = await rig.queue({ middleware: [curious] });

      await expect(queue.enqueue('')).rejects.toThrow(MiddlewareError);

      expect(errors).toEqual([expect.objectContaining({ code: 'JOBS_INVALID_JOB_TYPE' })]);
    });

    it('must call next', async () => {
      const queue = await rig.queue({ middleware: [{ enqueue: () => undefined }] });

      await expect(queue.enqueue('work')).rejects.toThrow(MiddlewareError);

      expect(await rig.rows()).toEqual([]);
    });

    it('works in the transaction of the caller', async () => {
      const queue = await rig.queue({ middleware: [named('a')] });

      const rolledBack = dataSource.transaction(async (manager) => {
        await queue.enqueue('work', 1, { manager });
        throw new Error('rolled back');
      });

      await expect(rolledBack).rejects.toThrow('rolled back');
      expect(await rig.rows()).toEqual([]);
    });
  });

  describe('middleware around an attempt', () => {
    it('goes around each one, the first one outermost', async () => {
      const queue = await rig.queue({ middleware: [named('a'), named('b')] });
      queue.register('work', () => log.push('work'));
      await queue.enqueue('work');
      log = [];

      await queue.tick();

      expect(log).toEqual(['> run a work 1', '> run b work 1', 'work', '< run b', '< run a']);
      expect(await rig.rows()).toEqual([]);
    });

    it('makes the attempt fail by throwing, like the handler itself', async () => {
      const queue = await rig.queue({ middleware: [{ run: () => Promise.reject(new Error('not now')) }] });
      queue.register('work', () => log.push('work'));
      await queue.enqueue('work');

      await queue.tick();

      expect(log).toEqual([]);
      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 1, last_error: 'not now' });
    });

    it('completes the job by catching what the handler throws', async () => {
      const forgiving: JobMiddleware = { run: (_job, next) => next().catch((error: Error) => log.push(error.message)) };
      const queue = await rig.queue({ middleware: [forgiving] });
      queue.register('work', () => Promise.reject(new Error('boom')));
      await queue.enqueue('work');

      await queue.tick();

      expect(log).toEqual(['boom']);
      expect(await rig.rows()).toEqual([]);
    });

    it.each<[string, JobMiddleware, string]>([
      ['never calls next', { run: () => undefined }, 'without calling next'],
      ['calls next twice', { run: (_job, next) => Promise.all([next(), next()]) }, 'called next() twice'],
    ])('fails the attempt when it %s', async (_what, middleware, message) => {
      const queue = await rig.queue({ middleware: [middleware] });
      queue.register('work', () => undefined);
      await queue.enqueue('work');

      await queue.tick();

      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 1 });
      expect((await rig.row()).last_error).toContain(message);
    });

    it('counts towards the timeout', async () => {
      const stuck: JobMiddleware = { run: () => new Promise(() => undefined) };
      const queue = await rig.queue({ middleware: [stuck], timeout: 20 });
      queue.register('work', () => undefined);
      await queue.enqueue('work');

      await queue.tick();

      expect(await rig.row()).toMatchObject({ attempts: 1, last_error: 'timed out after 20 ms' });
    });
  });
});
