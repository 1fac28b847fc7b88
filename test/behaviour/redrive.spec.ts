import { InvalidOptionError } from '../../lib/model/errors.js';
import type { JobFilterOptions } from '../../lib/admin/admin-options.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';

const errors = ['connect ECONNREFUSED 10.0.0.1', "it's 100% _odd_ \\ täuschend 🙂", 'Not found', 'not found'];

forEachDatabase((database) => {
  let rig: QueueRig;
  let queue: PersistentJobQueue;
  let ids: string[];

  beforeAll(async () => {
    rig = new QueueRig(await database.connect());
    queue = await rig.queue({ maxRetries: 0 });
    queue.register('fails', (payload: number) => {
      throw new Error(errors[payload]);
    });
  });

  beforeEach(async () => {
    await rig.dataSource.query('DELETE FROM rws_jobs');
    ids = await queue.enqueueMany(
      errors.map((_error, payload) => ({ type: 'fails', payload, queue: `q${payload % 2}` })),
    );
    while (await queue.tick());
    for (const [n, id] of ids.entries()) await rig.set(`finished_at = ${(n + 1) * 1_000_000_000_000}`, `id = '${id}'`);
  });

  afterAll(async () => {
    await rig.close();
    await database.clear();
  });

  const whole: readonly [JobFilterOptions, readonly number[]][] = [
    [{ error: 'ECONNREFUSED' }, [0]],
    [{ error: "'s 100% _odd_ \\ täuschend 🙂" }, [1]],
    [{ error: '%' }, [1]],
    [{ error: 'not found' }, [3]],
    [{ error: 'N' }, [0, 2]],
    [{ error: 'nothing like that' }, []],
    [{ queue: 'q0' }, [0, 2]],
    [{ queue: 'Q0' }, []],
    [{ finishedFrom: 2_000_000_000_000 }, [1, 2, 3]],
    [{ finishedFrom: 2_000_000_000_000, finishedBefore: new Date(4_000_000_000_000) }, [1, 2]],
    [{ finishedBefore: 3_000_000_000_000, queue: 'q1', error: 'odd' }, [1]],
  ];

  it.each(whole)('lists and retries the failed jobs of %j', async (filter, expected) => {
    const meant = expected.map((n) => ids[n]);

    const { jobs } = await queue.admin.list({ state: 'failed', ...filter });
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(meant);
    expect(await queue.admin.retryMany({ state: 'failed', ...filter })).toEqual({
      done: meant.length,
      skipped: 0,
      isComplete: true,
    });
    expect((await rig.rows("status = 'pending'")).map(({ id }) => id).toSorted()).toEqual(meant);
  });

  it('spreads what is retried over time', async () => {
    const result = await queue.admin.retryMany({ type: 'fails' }, { perSecond: 2 });

    expect(result).toEqual({ done: 4, skipped: 0, isComplete: true });
    // Those that failed last come first.
    const due = (await rig.rows()).map((row) => ({ id: row.id, at: row.next_run_at }));
    expect(due.map(({ id }) => id)).toEqual([...ids.slice(2), ...ids.slice(0, 2)]);
    const [first = 0, , third = 0] = due.map(({ at }) => at);
    expect(third - first).toBeGreaterThanOrEqual(1_000);
  });

  it('stops at its limit, and goes on when it is called again', async () => {
    const options = { limit: 3, perSecond: 1 };

    expect(await queue.admin.retryMany({ state: 'failed' }, options)).toEqual({
      done: 3,
      skipped: 0,
      isComplete: false,
    });
    expect(await queue.admin.retryMany({ state: 'failed' }, options)).toEqual({
      done: 1,
      skipped: 0,
      isComplete: true,
    });
  });

  it.each([
    [{ error: '' }, /error must be a text of 1 to 1000 characters/],
    [{ error: 7 }, /error must be/],
    [{ error: 'x'.repeat(1_001) }, /error must be/],
    [{ queue: '' }, /queue must be/],
    [{ batch: 'x' }, /batch must be the id of a batch/],
    [{ finishedFrom: 1_700_000_000 }, /finishedFrom looks like seconds/],
    [{ finishedUntil: 1 }, /no option 'finishedUntil'/],
  ])('refuses the filter %j', async (filter, message) => {
    const retried = queue.admin.retryMany(filter as JobFilterOptions);

    await expect(retried).rejects.toThrow(InvalidOptionError);
    await expect(retried).rejects.toThrow(message);
  });

  it.each([{ perSecond: 0 }, { perSecond: 10_001 }, { perSecond: 0.5 }, { every: 1 }])(
    'refuses the options %j',
    async (options) => {
      await expect(queue.admin.retryMany({}, options as object)).rejects.toThrow(InvalidOptionError);
    },
  );
});
