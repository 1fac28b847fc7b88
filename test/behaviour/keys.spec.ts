import fc from 'fast-check';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { Discard, Snooze } from '../../lib/model/steering.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

interface Order {
  readonly customer: string;
  readonly n: number;
}

const keyed = { key: ({ customer }: Order) => customer };

/** What ran of each key, in its order, and whether two of a key ever ran at the same time. */
class Diary {
  readonly ran: Order[] = [];
  overlaps = 0;
  private readonly running = new Set<string>();

  async run(order: Order, work: () => Promise<void> | void = () => pause(1)): Promise<void> {
    if (this.running.has(order.customer)) this.overlaps += 1;
    this.running.add(order.customer);
    try {
      await work();
      this.ran.push(order);
    } finally {
      this.running.delete(order.customer);
    }
  }

  of(customer: string): readonly number[] {
    return this.ran.filter((order) => order.customer === customer).map(({ n }) => n);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function orders(customer: string, count: number, from = 0): { readonly type: 'order'; readonly payload: Order }[] {
  return Array.from({ length: count }, (_, index) => ({ type: 'order', payload: { customer, n: from + index } }));
}

forEachDatabase((database) => {
  const rigs: QueueRig[] = [];

  async function fleet(size: number, prepare: (queue: PersistentJobQueue) => void): Promise<PersistentJobQueue[]> {
    const shared = database.name === 'sqlite-memory' ? await database.connect() : undefined;
    const queues: PersistentJobQueue[] = [];
    for (let index = 0; index < size; index += 1) {
      const rig = new QueueRig(shared ?? (await database.connect()));
      rigs.push(rig);
      const queue = await rig.queue({ workers: 4 });
      prepare(queue);
      queues.push(queue);
    }
    return queues;
  }

  async function alone(): Promise<{ queue: PersistentJobQueue; rig: QueueRig }> {
    const [queue] = await fleet(1, () => undefined);
    const [rig] = rigs;
    if (queue === undefined || rig === undefined) throw new Error('no queue');
    return { queue, rig };
  }

  afterEach(async () => {
    await Promise.all(rigs.splice(0).map((rig) => rig.close()));
    await database.clear();
  });

  it('runs the jobs of a key one at a time and in order, over all processes, and other keys beside it', async () => {
    const diary = new Diary();
    const queues = await fleet(2, (queue) => queue.register('order', (order: Order) => diary.run(order), keyed));
    const keys = ['ada', 'bob', 'cy'];
    await queues[0]?.enqueueMany(keys.flatMap((key) => orders(key, 10)));
    await queues[0]?.enqueueMany(keys.flatMap((key) => orders(key, 10, 10)));

    await Promise.all(queues.map((queue) => queue.start()));
    await until(() => diary.ran.length === 60);

    expect(diary.overlaps).toBe(0);
    for (const key of keys) expect(diary.of(key)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    await until(async () => (await rigs[0]?.rows())?.length === 0);
  });

  it('lets one that waits for a retry, or snoozes, hold up those behind it, and one that fails for good nobody', async () => {
    const { queue, rig } = await alone();
    const diary = new Diary();
    const seen: string[] = [];
    queue.register(
      'order',
      async (order: Order, job) => {
        seen.push(`${order.n}/${job.attempt}`);
        if (order.n === 0 && job.attempt < 3) throw new Error('not yet');
        if (order.n === 1 && seen.filter((each) => each === '1/1').length === 1) throw new Snooze(1_000);
        if (order.n === 2) throw new Error('never');
        await diary.run(order);
      },
      { ...keyed, maxRetries: 2, backoff: { initial: 30, multiplier: 1 } },
    );
    await queue.enqueueMany(orders('ada', 4));
    await queue.start();

    await until(() => seen.includes('1/1'));
    await until(async () => (await rig.rows("status = 'pending' AND history IS NOT NULL")).length === 1);
    expect(diary.of('ada')).toEqual([0]);
    await rig.set('next_run_at = 1', "status = 'pending' AND history IS NOT NULL");
    await until(() => diary.ran.length === 3);

    expect(seen).toEqual(['0/1', '0/2', '0/3', '1/1', '1/1', '2/1', '2/2', '2/3', '3/1']);
    expect(diary.of('ada')).toEqual([0, 1, 3]);
  });

  it('lets one that waits for a retry hold up also one that was started before it', async () => {
    const { queue, rig } = await alone();
    const diary = new Diary();
    const failures = [new Discard('never'), new Error('not yet')];
    queue.register(
      'order',
      (order: Order) => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return diary.run(order);
      },
      { ...keyed, maxRetries: 1, backoff: { initial: 60_000, multiplier: 1 } },
    );
    const [first = ''] = await queue.enqueueMany(orders('ada', 2));
    expect([await queue.tick(), await queue.tick()]).toEqual([true, true]);
    await queue.retry(first);

    expect(await queue.tick()).toBe(false);
    await rig.set('next_run_at = 1', `id <> '${first}'`);
    expect([await queue.tick(), await queue.tick()]).toEqual([true, true]);

    expect(diary.of('ada')).toEqual([1, 0]);
  });

  it('lets one that was never started and is not due hold up nobody', async () => {
    const { queue } = await alone();
    const diary = new Diary();
    queue.register('order', (order: Order) => diary.run(order), keyed);
    await queue.enqueue('order', { customer: 'ada', n: 0 }, { delay: 60_000 });
    await queue.enqueue('order', { customer: 'ada', n: 1 });

    expect([await queue.tick(), await queue.tick()]).toEqual([true, false]);

    expect(diary.of('ada')).toEqual([1]);
  });

  it('takes the key of a job before that of its handler, and none where it says so', async () => {
    const { queue, rig } = await alone();
    const running = new Set<number>();
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const run = ({ n }: Order): Promise<void> => {
      running.add(n);
      return gate;
    };
    queue.register('order', run, keyed);
    await queue.enqueue('order', { customer: 'ada', n: 0 });
    await queue.enqueue('order', { customer: 'ada', n: 1 });
    await queue.enqueue('order', { customer: 'ada', n: 2 }, { key: 'other' });
    const id = await queue.enqueue('order', { customer: 'ada', n: 3 }, { key: null });

    await queue.start();
    await until(() => running.size === 3);

    expect(running).toEqual(new Set([0, 2, 3]));
    expect((await queue.find(id))?.key).toBeUndefined();
    expect((await rig.rows()).filter(({ status }) => status === 'running')).toHaveLength(3);
    open();
  });

  it('knows keys of which only the enqueueing process knew, and leaves jobs without one free', async () => {
    const { queue } = await alone();
    const diary = new Diary();
    let plain = 0;
    queue.register('order', (order: Order | null) => (order === null ? void (plain += 1) : diary.run(order)));
    await queue.enqueueMany(
      Array.from({ length: 20 }, (_, n) => ({ type: 'order', payload: { customer: 'ada', n }, key: 'ada' })),
    );
    await queue.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'order', payload: null })));

    await queue.start();
    await until(() => diary.ran.length === 20 && plain === 5);

    expect(diary.overlaps).toBe(0);
    expect(diary.of('ada')).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it('fails jobs by hand that have a key and no handler, like others without one', async () => {
    const { queue } = await alone();
    await queue.enqueue('unknown', {}, { key: 'k', maxRetries: 0 });
    await queue.enqueue('unknown', {}, { maxRetries: 0 });

    expect(await queue.tick()).toBe(true);
    expect(await queue.tick()).toBe(true);

    const { jobs } = await queue.admin.list({ state: 'failed' });
    expect(jobs.map(({ lastError }) => lastError)).toEqual([
      "no handler registered for job type 'unknown'",
      "no handler registered for job type 'unknown'",
    ]);
  });

  it('serves keys in turns, however many jobs one of them has', async () => {
    const { queue } = await alone();
    const diary = new Diary();
    queue.register('order', (order: Order) => diary.run(order), { ...keyed, globalConcurrency: 1 });
    await queue.enqueueMany(orders('ada', 400));
    await queue.enqueueMany([...orders('bob', 3), ...orders('cy', 3)]);

    await queue.start();
    await until(() => diary.of('bob').length === 3 && diary.of('cy').length === 3);
    await queue.stop();

    expect(diary.of('ada').length).toBeLessThan(8);
  });

  it('goes on when the job in front is cancelled, deleted or paused no longer', async () => {
    const { queue } = await alone();
    const diary = new Diary();
    queue.register('order', (order: Order) => diary.run(order), keyed);
    const [first = '', second = ''] = await queue.enqueueMany(orders('ada', 4));
    await queue.cancel(first);
    await queue.delete(second);
    await queue.admin.pause({ type: 'order' });
    expect(await queue.tick()).toBe(false);
    await queue.admin.resume({ type: 'order' });

    await queue.start();
    await until(() => diary.ran.length === 2);
    expect(diary.of('ada')).toEqual([2, 3]);

    await queue.retry(first);
    await until(() => diary.ran.length === 3);
    expect(diary.of('ada')).toEqual([2, 3, 0]);
  });

  it('does what a model does: each key in order, with retries, whatever the mix of keys', async () => {
    const { queue, rig } = await alone();
    const diary = new Diary();
    queue.register(
      'order',
      (order: Order & { readonly fails: number }, job) =>
        diary.run(order, () => {
          if (job.attempt <= order.fails) throw new Error('not yet');
        }),
      { ...keyed, backoff: { initial: 1, multiplier: 1 }, maxRetries: 3 },
    );
    await queue.start();
    const job = fc.record({ customer: fc.constantFrom('ada', 'bob', 'é', 'Ada'), fails: fc.nat({ max: 2 }) });

    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 12 }), async (jobs) => {
        diary.ran.length = 0;
        const payloads = jobs.map((each, n) => ({ ...each, n }));
        await queue.enqueueMany(payloads.map((payload) => ({ type: 'order', payload })));
        await until(() => diary.ran.length === jobs.length);

        for (const customer of new Set(jobs.map((each) => each.customer))) {
          const expected = payloads.filter((each) => each.customer === customer).map(({ n }) => n);
          expect(diary.of(customer)).toEqual(expected);
        }
      }),
      { numRuns: 6 },
    );

    expect(diary.overlaps).toBe(0);
    await until(async () => (await rig.rows()).length === 0);
  });
});
