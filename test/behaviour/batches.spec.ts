import type { JobBatch } from '../../lib/model/batch.js';
import { InvalidJobTypeError, InvalidOptionError, InvalidPayloadError } from '../../lib/model/errors.js';
import type { JobContext } from '../../lib/model/job-context.js';
import type { PersistentQueueOptions } from '../../lib/model/queue-options.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import type { JobRequest } from '../../lib/queues/job-request.js';
import { Discard, Snooze } from '../../lib/model/steering.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const done: JobRequest = { type: 'done', payload: 'all done' };
const sorry: JobRequest = { type: 'sorry', payload: 'not all' };
const works = (count: number): JobRequest[] => Array.from({ length: count }, (_, n) => ({ type: 'work', payload: n }));

/** What follow-ups have been run, with the batch that each knows of. */
interface Followed {
  readonly type: string;
  readonly payload: unknown;
  readonly batch: JobBatch | undefined;
}

forEachDatabase((database) => {
  let rig: QueueRig;
  let followed: Followed[];
  let ran: unknown[];

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    [followed, ran] = [[], []];
  });

  afterEach(async () => {
    await rig.close();
    await database.clear();
  });

  async function worker(options: PersistentQueueOptions = {}): Promise<PersistentJobQueue> {
    const queue = await rig.queue({ maxRetries: 0, ...options });
    const follow = (payload: unknown, { type, batch }: JobContext): number => followed.push({ type, payload, batch });
    queue.register('done', follow);
    queue.register('sorry', follow);
    queue.register('work', (payload) => ran.push(payload));
    queue.register('bad', () => {
      throw new Error('boom');
    });
    return queue;
  }

  async function drain(queue: PersistentJobQueue): Promise<void> {
    while (await queue.tick());
  }

  describe('a batch', () => {
    it('enqueues onComplete once when all of its jobs have completed, and leaves nothing behind', async () => {
      const queue = await worker();
      const { id, jobIds } = await queue.enqueueBatch(works(3), { onComplete: done, onFailure: sorry });

      expect(new Set((await rig.rows()).map((row) => row.id))).toEqual(new Set(jobIds));
      await queue.tick();
      expect(await queue.batch(id)).toMatchObject({ id, state: 'open', total: 3, completed: 1, failed: 0 });
      await drain(queue);

      expect(ran).toEqual([0, 1, 2]);
      expect(followed).toEqual([
        { type: 'done', payload: 'all done', batch: { id, total: 3, completed: 3, failed: 0 } },
      ]);
      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 3, completed: 3, failed: 0 });
      expect((await queue.batch(id))?.finishedAt).toBeGreaterThan(0);
      expect(await rig.rows()).toEqual([]);
    });

    it('enqueues onFailure once when a job has failed, however the others end, and only when all are over', async () => {
      const queue = await worker();
      queue.register('late', () => {
        throw new Discard('of no use');
      });
      const jobs = [{ type: 'bad' }, { type: 'late', delay: 50 }, ...works(1)];
      const { id } = await queue.enqueueBatch(jobs, { onComplete: done, onFailure: sorry });

      await queue.tick();
      await queue.tick();
      expect(await queue.batch(id)).toMatchObject({ state: 'open', completed: 1, failed: 1 });
      expect(followed).toEqual([]);
      await until(async () => (await queue.tick()) && (await queue.batch(id))?.state === 'failed');
      await drain(queue);

      expect(followed).toEqual([
        { type: 'sorry', payload: 'not all', batch: { id, total: 3, completed: 1, failed: 2 } },
      ]);
      expect(await queue.batch(id)).toMatchObject({ state: 'failed', total: 3, completed: 1, failed: 2 });
      expect((await rig.rows()).map(({ status }) => status)).toEqual(['failed', 'failed']);
      const { jobs: failed } = await queue.admin.list({ batch: id, state: 'failed' });
      expect(failed.map(({ type, batchId }) => `${type} of ${batchId}`).toSorted()).toEqual([
        `bad of ${id}`,
        `late of ${id}`,
      ]);
      expect((await queue.admin.list({ batch: id })).jobs).toHaveLength(2);
    });

    it('goes on with a job that is retried, snoozed or given back', async () => {
      const queue = await worker();
      let runs = 0;
      queue.register('slow starter', () => {
        runs += 1;
        if (runs === 1) throw new Error('not yet');
        if (runs === 2) throw new Snooze(1);
      });
      const { id } = await queue.enqueueBatch([{ type: 'slow starter', maxRetries: 1 }], { onComplete: done });

      await until(async () => {
        await queue.tick();
        expect(followed.length === 0 || runs === 3).toBe(true);
        return followed.length === 1;
      });

      expect(followed).toMatchObject([{ type: 'done', batch: { id, completed: 1 } }]);
    });

    it('without a job completes at once', async () => {
      const queue = await worker();

      const { id, jobIds } = await queue.enqueueBatch([], { onComplete: done, onFailure: sorry });

      expect(jobIds).toEqual([]);
      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 0 });
      expect((await rig.rows()).map((row) => row.job_type)).toEqual(['done']);
      await drain(queue);
      expect(followed).toMatchObject([{ batch: { id, total: 0, completed: 0, failed: 0 } }]);
    });

    it('needs no follow-up', async () => {
      const queue = await worker();
      const { id } = await queue.enqueueBatch([{ type: 'bad' }], { onComplete: done });
      const other = await queue.enqueueBatch(works(1));

      await drain(queue);

      expect([await queue.batch(id), await queue.batch(other.id)]).toMatchObject([
        { state: 'failed' },
        { state: 'completed' },
      ]);
      expect(followed).toEqual([]);
    });

    it.each(['cancel', 'delete'] as const)('counts a job that somebody ends by %s as failed, at once', async (end) => {
      const queue = await worker();
      const { id, jobIds } = await queue.enqueueBatch([...works(1), { type: 'work', delay: 600_000 }], {
        onFailure: sorry,
      });
      await drain(queue);

      await queue[end](jobIds[1] ?? '');
      await drain(queue);

      expect(followed).toMatchObject([{ type: 'sorry', batch: { id, total: 2, completed: 1, failed: 1 } }]);
    });

    it('counts one that expired, and one whose row is gone', async () => {
      const queue = await worker();
      const jobs = [{ type: 'work', delay: 20, expiresIn: 21 }, ...works(1), { type: 'work', delay: 600_000 }];
      const { id, jobIds } = await queue.enqueueBatch(jobs, { onFailure: sorry });
      await rig.dataSource.query(`DELETE FROM rws_jobs WHERE id = '${jobIds[2]}'`);
      await rig.set('expires_at = 1', `id = '${jobIds[0]}'`);

      await until(async () => !(await queue.tick()) && followed.length > 0);

      expect(followed).toMatchObject([{ type: 'sorry', batch: { id, total: 3, completed: 1, failed: 2 } }]);
    });

    it('counts a failed job again that is retried before the end', async () => {
      const queue = await worker();
      let isBroken = true;
      queue.register('fragile', () => {
        if (isBroken) throw new Error('broken');
      });
      const jobs = [{ type: 'fragile' }, { type: 'work', delay: 600_000 }];
      const { id, jobIds } = await queue.enqueueBatch(jobs, { onComplete: done, onFailure: sorry });
      await drain(queue);
      expect(await queue.batch(id)).toMatchObject({ failed: 1 });

      isBroken = false;
      await queue.retry(jobIds[0] ?? '');
      await queue.admin.reschedule(jobIds[1] ?? '', { delay: 0 });
      await drain(queue);

      expect(followed).toMatchObject([{ type: 'done', batch: { id, completed: 2, failed: 0 } }]);
      expect(await rig.rows()).toEqual([]);
    });

    it('is not changed by a job that is retried after the end, which is then like any other', async () => {
      const queue = await worker();
      let isBroken = true;
      queue.register('fragile', () => {
        if (isBroken) throw new Error('broken');
      });
      const { id, jobIds } = await queue.enqueueBatch([{ type: 'fragile' }], { onComplete: done, onFailure: sorry });
      await drain(queue);
      const before = await queue.batch(id);

      isBroken = false;
      expect(await queue.retry(jobIds[0] ?? '')).toEqual({ result: 'done', from: 'failed' });
      await drain(queue);

      expect(followed.map(({ type }) => type)).toEqual(['sorry']);
      expect(await queue.batch(id)).toEqual(before);
      expect(await rig.rows()).toEqual([]);
    });

    it('keeps completed jobs until its end, also from being deleted, and then as long as their retention says', async () => {
      const queue = await worker({ retention: { completed: 600_000 } });
      queue.register('told', () => 'a result');
      const jobs = [{ type: 'told' }, { type: 'work', delay: 600_000 }];
      const { jobIds } = await queue.enqueueBatch(jobs, { onComplete: done });
      await drain(queue);
      const [told = '', later = ''] = jobIds;

      expect(await queue.delete(told)).toEqual({ result: 'wrongState', state: 'completed' });
      expect(await queue.admin.deleteMany({ state: 'completed' })).toEqual({ done: 0, skipped: 1, isComplete: true });
      await queue.admin.reschedule(later, { delay: 0 });
      await drain(queue);

      expect(followed).toMatchObject([{ type: 'done', batch: { completed: 2 } }]);
      const row = await rig.row(`id = '${told}'`);
      expect((row.keep_until ?? 0) - (row.finished_at ?? 0)).toBe(600_000);
      expect(await queue.find(told, { payload: true })).toMatchObject({ state: 'completed', result: 'a result' });
      expect(await queue.delete(told)).toEqual({ result: 'done', from: 'completed' });
    });

    it('goes with keys, throttles, tags, priorities and queues', async () => {
      const queue = await worker();
      const first = await queue.enqueue('work', 'first', { uniqueKey: 'k', delay: 600_000 });
      const jobs: JobRequest[] = [
        { type: 'work', payload: 'a', uniqueKey: 'k' },
        { type: 'work', payload: 'b', uniqueKey: 'other', tags: ['x'], priority: -5, queue: 'side' },
        { type: 'work', payload: 'c', throttle: { window: 600_000 } },
        { type: 'work', payload: 'd', throttle: { window: 600_000 } },
      ];
      const { id, jobIds } = await queue.enqueueBatch(jobs, {
        onComplete: { ...done, uniqueKey: 'the end', tags: ['after'], priority: 3 },
      });

      expect(jobIds[0]).toBe(first);
      expect(jobIds[3]).toBe(jobIds[2]);
      expect(await queue.batch(id)).toMatchObject({ total: 2 });
      await queue.tick();
      await queue.tick();
      expect(ran).toEqual(['b', 'c']);
      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 2, completed: 2 });
      const {
        jobs: [follow],
      } = await queue.admin.list({ type: 'done' });
      expect(follow).toMatchObject({ uniqueKey: 'the end', tags: ['after'], priority: 3 });
      expect(await queue.find(first)).toMatchObject({ state: 'pending', batchId: undefined });
    });

    it('of which other jobs hold all keys completes at once', async () => {
      const queue = await worker();
      await queue.enqueue('work', 1, { uniqueKey: 'k', delay: 600_000 });

      const { id } = await queue.enqueueBatch([{ type: 'work', uniqueKey: 'k' }], { onComplete: done });

      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 0 });
    });

    it('is stored whole or not at all', async () => {
      const queue = await worker();
      const bad = [...works(2), { type: 'work', payload: { at: new Date() } }];

      await expect(queue.enqueueBatch(bad, { onComplete: done })).rejects.toThrow(/^jobs\[2\]: .*payload\.at/);
      await expect(queue.enqueueBatch(bad)).rejects.toThrow(InvalidPayloadError);
      await expect(queue.enqueueBatch(works(1), { onFailure: { type: '' } })).rejects.toThrow(/^onFailure: /);
      await expect(queue.enqueueBatch(works(1), { onFailure: { type: '' } })).rejects.toThrow(InvalidJobTypeError);
      const odd = { next: done } as object;
      await expect(queue.enqueueBatch(works(1), odd)).rejects.toThrow(/have no option 'next'/);
      await expect(queue.enqueueBatch({} as never)).rejects.toThrow(InvalidOptionError);
      await expect(queue.enqueueChain([works(1), []])).rejects.toThrow(/steps\[1\] has no jobs/);
      await expect(queue.enqueueChain([done, 'x' as never])).rejects.toThrow(/^steps\[1\]: a job is/);
      await expect(queue.enqueueChain(works(1_001))).rejects.toThrow(/at most 1000 steps, got 1001/);

      expect(await rig.rows()).toEqual([]);
      expect(await rig.dataSource.query('SELECT * FROM rws_jobs_batches')).toEqual([]);
    });

    it("lives and dies with the caller's transaction", async () => {
      const queue = await worker();
      const enqueue = (isKept: string, jobs: JobRequest[]): Promise<unknown> =>
        rig.dataSource.transaction(async (manager) => {
          await queue.enqueueBatch(jobs, { onComplete: done, manager });
          if (isKept !== 'kept') throw new Error('rolled back');
        });
      const keyed = { type: 'work', payload: 'täuschend 🙂', uniqueKey: 'k' };

      await expect(enqueue('not', [...works(2), keyed])).rejects.toThrow('rolled back');
      await expect(enqueue('not', works(2))).rejects.toThrow('rolled back');
      expect(await rig.dataSource.query('SELECT * FROM rws_jobs_batches')).toEqual([]);
      expect(await rig.rows()).toEqual([]);
      await enqueue('kept', [...works(2), keyed]);
      await enqueue('kept', works(1));
      await drain(queue);

      expect(ran).toEqual([0, 1, 'täuschend 🙂', 0]);
      expect(followed).toHaveLength(2);
    });
  });

  describe('a chain', () => {
    it('enqueues each step when the one before has completed', async () => {
      const queue = await worker();
      const steps = [
        { type: 'work', payload: 1 },
        [
          { type: 'work', payload: 2 },
          { type: 'work', payload: 3 },
        ],
        { type: 'work', payload: 4 },
      ];
      const { id, jobIds } = await queue.enqueueChain(steps, { onComplete: done, onFailure: sorry });

      expect(jobIds).toHaveLength(4);
      expect((await rig.rows()).map((row) => row.id)).toEqual([jobIds[0]]);
      expect(await queue.batch(id)).toMatchObject({ state: 'open', total: 4, completed: 0, failed: 0 });
      await queue.tick();
      expect((await rig.rows("status = 'pending'")).map((row) => row.id)).toEqual(jobIds.slice(1, 3));
      await queue.tick();
      expect(await rig.rows("status = 'pending'")).toHaveLength(1);
      await drain(queue);

      expect(ran).toEqual([1, 2, 3, 4]);
      expect(followed).toEqual([
        { type: 'done', payload: 'all done', batch: { id, total: 4, completed: 4, failed: 0 } },
      ]);
      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 4, completed: 4 });
      expect(await rig.rows()).toEqual([]);
    });

    it('ends with the first job that does not complete', async () => {
      const queue = await worker();
      const steps = [
        { type: 'work', payload: 1 },
        [{ type: 'bad' }, { type: 'work', payload: 2 }],
        { type: 'work', payload: 3 },
      ];
      const { id } = await queue.enqueueChain(steps, { onComplete: done, onFailure: sorry });

      await drain(queue);

      expect(ran).toEqual([1, 2]);
      expect(followed).toMatchObject([{ type: 'sorry', batch: { id, total: 4, completed: 2, failed: 1 } }]);
      expect(await queue.batch(id)).toMatchObject({ state: 'failed', total: 4, completed: 2, failed: 1 });
    });

    it('passes over a step whose work another job does, and counts delays from the step', async () => {
      const queue = await worker();
      await queue.enqueue('work', 'other', { uniqueKey: 'k', delay: 600_000 });
      const steps = [
        { type: 'work', payload: 1 },
        { type: 'work', payload: 2, uniqueKey: 'k' },
        { type: 'work', payload: 3, delay: 600_000 },
      ];
      const { id } = await queue.enqueueChain(steps);

      await drain(queue);

      const [, row] = await rig.rows("status = 'pending'");
      expect(row?.payload).toBe('3');
      expect((row?.next_run_at ?? 0) - (row?.created_at ?? 0)).toBe(600_000);
      expect(await queue.batch(id)).toMatchObject({ state: 'open', total: 2, completed: 1 });
    });
  });

  it('workers that run by themselves enqueue what follows at once, without waiting for a sweep', async () => {
    const queue = await worker();
    const other = await worker();
    await Promise.all([queue.start(4), other.start(4)]);

    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const { id } = await queue.enqueueBatch([...works(5), ...(n % 2 === 0 ? [] : [{ type: 'bad' }])], {
        onComplete: done,
        onFailure: sorry,
      });
      ids.push(id);
    }
    const chain = await queue.enqueueChain(works(10), { onComplete: done });
    await until(() => followed.length >= 21);
    await until(async () => (await rig.rows("status <> 'failed'")).length === 0);

    expect(new Set(followed.map(({ batch }) => batch?.id))).toEqual(new Set([...ids, chain.id]));
    expect(followed).toHaveLength(21);
    expect(followed.filter(({ type }) => type === 'sorry')).toHaveLength(10);
  });

  it('takes 20 000 jobs, and leaves none of them behind', async () => {
    const queue = await worker();
    const { id, jobIds } = await queue.enqueueBatch(works(20_000), { onComplete: done, onFailure: sorry });
    expect(jobIds).toHaveLength(20_000);

    await queue.start(4);
    const isEmpty = async (): Promise<boolean> => (await queue.admin.list({ limit: 1 })).jobs.length === 0;
    await until(async () => followed.length > 0 && (await isEmpty()), { within: 50_000, every: 20 });

    expect(followed).toMatchObject([{ type: 'done', batch: { id, total: 20_000, completed: 20_000, failed: 0 } }]);
    expect(ran).toHaveLength(20_000);
  });
});
