import type { DataSource } from 'typeorm';
import { JobAbortedError } from '../../lib/model/errors.js';
import type { JobContext } from '../../lib/model/job-context.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const boom = (): never => {
  throw new Error('boom');
};

/** Runs until its signal is aborted, whose reason it throws. */
function untilAborted({ signal }: JobContext): Promise<void> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
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

  describe('retry', () => {
    it('says so when another job holds the unique key by now', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('a', boom);
      const id = await queue.enqueue('a', 1, { uniqueKey: 'k' });
      await queue.tick();
      const next = await queue.enqueue('a', 2, { uniqueKey: 'k', delay: 60_000 });

      expect(await queue.retry(id)).toEqual({ result: 'keyTaken', state: 'failed' });
      await queue.cancel(next);
      expect(await queue.retry(id)).toEqual({ result: 'done', from: 'failed' });
    });
  });

  describe('find', () => {
    it('tells what the job was given, and what became of it', async () => {
      const queue = await rig.queue({ retention: { completed: 'forever' } });
      let isFirst = true;
      queue.register('a', () => {
        if (!isFirst) return { sum: 42 };
        isFirst = false;
        throw new Error('boom');
      });
      const options = { queue: 'side', priority: -3, uniqueKey: 'k', tags: ['x'], timeout: 5_000, expiresIn: 60_000 };
      const id = await queue.enqueue('a', { b: 1 }, options);
      await until(async () => {
        await queue.tick();
        return (await queue.find(id))?.state === 'completed';
      });

      expect(await queue.find(id, { payload: true })).toMatchObject({
        queue: 'side',
        priority: -3,
        uniqueKey: 'k',
        tags: ['x'],
        timeout: 5_000,
        expiresAt: expect.any(Number),
        payload: { b: 1 },
        result: { sum: 42 },
        history: [
          { attempt: 1, outcome: 'retried', error: 'boom' },
          { attempt: 2, outcome: 'completed' },
        ],
      });
      const shy = await queue.find(id);
      expect(shy).not.toHaveProperty('payload');
      expect(shy).not.toHaveProperty('result');
    });
  });

  describe('cancel', () => {
    it('keeps a waiting job from ever running', async () => {
      const queue = await rig.queue();
      queue.register('a', boom);
      const id = await queue.enqueue('a');

      expect(await queue.cancel(id)).toEqual({ result: 'done', from: 'pending' });

      expect(await queue.tick()).toBe(false);
      expect(await rig.row()).toMatchObject({ status: 'cancelled', attempts: 0 });
    });

    it('aborts the signal of a running job of this process at once, long before its heartbeat', async () => {
      const queue = await rig.queue({ lease: 600_000 });
      const reasons: unknown[] = [];
      queue.register('a', async (_payload, job: JobContext) => {
        await untilAborted(job).catch((error: unknown) => reasons.push(error));
      });
      const id = await queue.enqueue('a');
      await queue.start();
      await until(async () => (await rig.row()).status === 'running');

      expect(await queue.cancel(id)).toEqual({ result: 'done', from: 'running' });

      await until(() => reasons.length > 0);
      expect(reasons).toEqual([expect.any(JobAbortedError)]);
      expect(reasons).toEqual([expect.objectContaining({ reason: 'cancelled' })]);
      expect(await rig.row()).toMatchObject({ status: 'cancelled', claim_token: null, claimed_by: null });
    });

    it.each([
      ['is done', () => undefined],
      ['fails', boom],
    ])('drops what a running handler comes to afterwards: it %s', async (_how, end) => {
      const queue = await rig.queue({ workers: 1 });
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      const ran: string[] = [];
      queue.register('a', () => gate.then(end));
      queue.register('b', () => ran.push('b'));
      const id = await queue.enqueue('a');
      await queue.start();
      await until(async () => (await rig.row()).status === 'running');

      await queue.cancel(id);
      go();
      await queue.enqueue('b');
      await until(() => ran.length === 1);
      await queue.stop();

      expect(await rig.rows("job_type = 'a'")).toEqual([
        expect.objectContaining({ status: 'cancelled', attempts: 0, last_error: null }),
      ]);
    });

    it('reaches a running job of another queue with its heartbeat, and is no lost claim there', async () => {
      const owner = await rig.queue({ lease: 600 });
      const reasons: unknown[] = [];
      owner.register('a', async (_payload, job: JobContext) => {
        await untilAborted(job).catch((error: unknown) => reasons.push(error));
      });
      const id = await owner.enqueue('a');
      await owner.start();
      await until(async () => (await rig.row()).status === 'running');
      const other = await rig.queue();

      expect(await other.cancel(id)).toEqual({ result: 'done', from: 'running' });

      await until(() => reasons.length > 0);
      expect(reasons).toEqual([expect.objectContaining({ reason: 'cancelled' })]);
      expect(rig.sink.lines.filter((line) => line.includes('was cancelled'))).toHaveLength(1);
      expect(rig.sink.lines.filter((line) => line.includes('lost its claim'))).toEqual([]);
    });

    it('keeps a job that was claimed ahead from starting', async () => {
      const queue = await rig.queue({ workers: 1 });
      const ran: unknown[] = [];
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      queue.register('a', async (payload) => {
        ran.push(payload);
        if (payload === 500) await gate;
      });
      const ids = await queue.enqueueMany(Array.from({ length: 1_000 }, (_unused, n) => ({ type: 'a', payload: n })));
      await queue.start();
      await until(() => ran.includes(500));

      const answers = await Promise.all(ids.slice(501, 521).map((id) => queue.cancel(id)));
      go();
      await until(async () => (await rig.rows("status <> 'cancelled'")).length === 0);

      expect(answers.every(({ result }) => result === 'done')).toBe(true);
      expect(ran).toHaveLength(980);
      expect(ran).not.toContain(501);
    });

    it('ends a job that tick runs', async () => {
      const queue = await rig.queue({ lease: 600_000 });
      queue.register('a', (_payload, job: JobContext) => untilAborted(job));
      const id = await queue.enqueue('a');
      const ticking = queue.tick();
      await until(async () => (await rig.row()).status === 'running');

      await queue.cancel(id);

      expect(await ticking).toBe(true);
      expect((await rig.row()).status).toBe('cancelled');
    });

    it('says what it found where there is nothing to cancel', async () => {
      const queue = await rig.queue({ maxRetries: 0 });
      queue.register('a', boom);
      const id = await queue.enqueue('a');
      await queue.tick();

      expect(await queue.cancel(id)).toEqual({ result: 'wrongState', state: 'failed' });
      await queue.delete(id);
      expect(await queue.cancel(id)).toEqual({ result: 'notFound' });
      expect(await queue.cancel('../etc/passwd')).toEqual({ result: 'notFound' });
    });

    it('is done once, however many want it', async () => {
      const queue = await rig.queue();
      const id = await queue.enqueue('a');

      const answers = await Promise.all(Array.from({ length: 10 }, () => queue.cancel(id)));

      expect(answers.filter(({ result }) => result === 'done')).toHaveLength(1);
      expect(answers.filter(({ result }) => result === 'wrongState')).toHaveLength(9);
    });
  });

  describe('retry', () => {
    it('gives a failed job all of its attempts again, and keeps its error until then', async () => {
      const queue = await rig.queue({ maxRetries: 1 });
      const attempts: number[] = [];
      queue.register('a', (_payload, { attempt }: JobContext) => {
        attempts.push(attempt);
        throw new Error(`boom ${attempts.length}`);
      });
      const id = await queue.enqueue('a');
      await queue.start();
      await until(async () => (await rig.row()).status === 'failed');
      await queue.stop();

      expect(await queue.retry(id)).toEqual({ result: 'done', from: 'failed' });

      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, last_error: 'boom 2' });
      await queue.start();
      await until(async () => (await rig.row()).status === 'failed');
      expect(attempts).toEqual([1, 2, 1, 2]);
    });

    it('wakes the workers of this process', async () => {
      const queue = await rig.queue({ maxRetries: 0, pollInterval: 600_000 });
      let runs = 0;
      queue.register('a', () => (runs += 1));
      const id = await queue.enqueue('a', null, { delay: 60_000 });
      await queue.start();
      await queue.cancel(id);

      await queue.retry(id);

      await until(() => runs === 1);
    });

    it('never makes a running or a waiting job run twice', async () => {
      const queue = await rig.queue();
      const id = await queue.enqueue('a', null, { delay: 60_000 });

      expect(await queue.retry(id)).toEqual({ result: 'wrongState', state: 'pending' });

      await rig.set("status = 'running', lease_until = 9000000000000");
      expect(await queue.retry(id)).toEqual({ result: 'wrongState', state: 'running' });
    });
  });

  describe('delete', () => {
    it('deletes a waiting job, and never a running one', async () => {
      const queue = await rig.queue();
      const [waiting, running] = await queue.enqueueMany([{ type: 'a' }, { type: 'b' }]);
      await rig.set("status = 'running', lease_until = 9000000000000", `id = '${running}'`);

      expect(await queue.delete(String(waiting))).toEqual({ result: 'done', from: 'pending' });
      expect(await queue.delete(String(running))).toEqual({ result: 'wrongState', state: 'running' });

      expect((await rig.row()).id).toBe(running);
    });
  });

  describe('reschedule and update', () => {
    it('change when and with what a waiting job runs', async () => {
      const queue = await rig.queue();
      const ran: unknown[] = [];
      queue.register('a', (payload, { maxRetries }: JobContext) => ran.push([payload, maxRetries]));
      const id = await queue.enqueue('a', { n: 1 }, { delay: 60_000 });

      expect(await queue.admin.update(id, { payload: { n: 2 }, maxRetries: 9 })).toEqual({
        result: 'done',
        from: 'pending',
      });
      expect(await queue.admin.reschedule(id, { runAt: new Date() })).toEqual({ result: 'done', from: 'pending' });

      await until(() => queue.tick());
      expect(ran).toEqual([[{ n: 2 }, 9]]);
    });

    it('wake the workers when the job has become due', async () => {
      const queue = await rig.queue({ pollInterval: 600_000 });
      let runs = 0;
      queue.register('a', () => (runs += 1));
      const id = await queue.enqueue('a', null, { delay: 60_000 });
      await queue.start();

      await queue.admin.reschedule(id, { delay: 0 });

      await until(() => runs === 1);
    });

    it('leave a running job alone', async () => {
      const queue = await rig.queue();
      const id = await queue.enqueue('a');
      await rig.set("status = 'running', lease_until = 9000000000000");

      expect(await queue.admin.update(id, { payload: 1 })).toEqual({ result: 'wrongState', state: 'running' });
      expect(await queue.admin.reschedule(id, { delay: 1 })).toEqual({ result: 'wrongState', state: 'running' });
    });
  });

  describe('retention of cancelled jobs', () => {
    it('deletes those past it and nothing else', async () => {
      const queue = await rig.queue({ retention: { cancelled: 86_400_000 } });
      const ids = await queue.enqueueMany(Array.from({ length: 3 }, () => ({ type: 'other' })));
      await queue.cancel(String(ids[0]));
      await queue.cancel(String(ids[1]));
      await rig.set('finished_at = finished_at - 90000000', `id = '${ids[0]}'`);

      await queue.start();

      await until(async () => (await rig.rows()).length === 2);
      expect((await rig.rows()).map(({ id }) => id).toSorted()).toEqual(ids.slice(1).toSorted());
    });
  });
});
