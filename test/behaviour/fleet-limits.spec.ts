import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { Meter } from '../support/meter.js';
import { until } from '../support/until.js';

forEachDatabase((database) => {
  const rigs: QueueRig[] = [];

  /** Queues as so many processes have them, each on a connection of its own where the database has more than one. */
  async function fleet(size: number, prepare: (queue: PersistentJobQueue) => void): Promise<PersistentJobQueue[]> {
    const isAlone = database.name === 'sqlite-memory';
    const shared = isAlone ? await database.connect() : undefined;
    const queues: PersistentJobQueue[] = [];
    for (let index = 0; index < size; index += 1) {
      const rig = new QueueRig(shared ?? (await database.connect()));
      rigs.push(rig);
      const queue = await rig.queue({ workers: 4, lease: 600 });
      prepare(queue);
      queues.push(queue);
    }
    return queues;
  }

  afterEach(async () => {
    await Promise.all(rigs.splice(0).map((rig) => rig.close()));
    await database.clear();
  });

  const startAll = (queues: readonly PersistentJobQueue[]): Promise<unknown> =>
    Promise.all(queues.map((queue) => queue.start()));

  describe('globalConcurrency', () => {
    it('runs no more jobs of a type at a time than it says, over all queues, priorities and processes, and all of them', async () => {
      const meter = new Meter();
      const [first, ...others] = await fleet(3, (queue) => {
        queue.register('narrow', meter.handler('narrow', 25), { globalConcurrency: 2 });
        queue.register('free', meter.handler('free'));
      });
      if (first === undefined) throw new Error('no queue');
      await first.enqueueMany([
        ...Array.from({ length: 60 }, (_, index) => ({ type: 'narrow', priority: index % 3, queue: `q${index % 2}` })),
        ...Array.from({ length: 30 }, () => ({ type: 'free' })),
      ]);

      await startAll([first, ...others]);
      await until(() => meter.done.get('narrow') === 60 && meter.done.get('free') === 30);
      await Promise.all([first, ...others].map((queue) => queue.stop()));

      expect(meter.most.get('narrow')).toBe(2);
      expect(await rigs[0]?.rows()).toEqual([]);
    });

    it('keeps to the concurrency of each process as well', async () => {
      const meter = new Meter();
      const [queue] = await fleet(1, (one) =>
        one.register('narrow', meter.handler('narrow', 5), { globalConcurrency: 3, concurrency: 1 }),
      );
      await queue?.enqueueMany(Array.from({ length: 8 }, () => ({ type: 'narrow' })));

      await queue?.start();
      await until(() => meter.done.get('narrow') === 8);

      expect(meter.most.get('narrow')).toBe(1);
    });

    it('counts whatever runs, until it has been taken back from a dead process', async () => {
      const meter = new Meter();
      const [queue] = await fleet(1, (one) =>
        one.register('narrow', meter.handler('narrow'), { globalConcurrency: 1 }),
      );
      const id = await queue?.enqueue('narrow');
      const rig = rigs[0];
      await rig?.set("status = 'running', claimed_by = 'another machine', lease_until = 9000000000000", `id = '${id}'`);
      await queue?.enqueue('narrow', null, { priority: -1 });
      await queue?.start();
      expect(await queue?.tick()).toBe(false);

      await rig?.set('lease_until = 1', `id = '${id}'`);
      await until(() => meter.done.get('narrow') === 2);

      expect(meter.most.get('narrow')).toBe(1);
    });

    it('heeds pauses, retries, expiry and a limit of the option handlers', async () => {
      const rig = new QueueRig(await database.connect());
      rigs.push(rig);
      const queue = await rig.queue({ workers: 4, handlers: { narrow: { globalConcurrency: 1 } } });
      const ran: string[] = [];
      queue.register('narrow', (name: string, job) => {
        ran.push(name);
        if (name === 'again' && job.attempt === 1) throw new Error('again');
      });
      await queue.admin.pause({ type: 'narrow' });
      await queue.enqueue('narrow', 'again', { priority: -1 });
      await queue.enqueue('narrow', 'late', { expiresIn: 1 });
      await queue.enqueue('narrow', 'once');
      expect(await queue.tick()).toBe(false);

      await queue.admin.resume({ type: 'narrow' });
      await queue.start();
      await until(async () => (await rig.rows()).every(({ status }) => status === 'failed'));

      expect(ran.toSorted()).toEqual(['again', 'again', 'once']);
      expect((await rig.row()).last_error).toMatch(/^expired/);
    });

    it('lets jobs without limits run while its own wait', async () => {
      const [queue] = await fleet(1, () => undefined);
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      const meter = new Meter();
      queue?.register('narrow', () => gate, { globalConcurrency: 1 });
      queue?.register('free', meter.handler('free'));
      await queue?.enqueueMany([
        ...Array.from({ length: 20 }, () => ({ type: 'narrow', priority: -5 })),
        ...Array.from({ length: 50 }, () => ({ type: 'free' })),
      ]);

      await queue?.start();
      await until(() => meter.done.get('free') === 50);

      open();
      await until(async () => (await rigs[0]?.rows())?.length === 0);
    });
  });

  describe('rateLimit', () => {
    const window = 150;

    it('starts no more jobs in any window than it says, retries included, in all processes together', async () => {
      const starts: number[] = [];
      const queues = await fleet(3, (queue) =>
        queue.register(
          'rated',
          (_payload: unknown, job) => {
            starts.push(performance.now());
            if (job.attempt === 1) throw new Error('once more');
          },
          { rateLimit: { limit: 4, window } },
        ),
      );
      await queues[0]?.enqueueMany(Array.from({ length: 8 }, () => ({ type: 'rated' })));

      await startAll(queues);
      await until(async () => (await rigs[0]?.rows())?.length === 0);

      expect(starts).toHaveLength(16);
      expect(mostWithin(starts, window)).toBeLessThanOrEqual(4);
    });

    it('sleeps until the next job may start instead of asking for it', async () => {
      const starts: number[] = [];
      const rig = new QueueRig(await database.connect());
      rigs.push(rig);
      const queue = await rig.queue({ workers: 4, pollInterval: 60_000 });
      queue.register('rated', () => void starts.push(performance.now()), { rateLimit: { limit: 1, window } });
      await queue.enqueueMany(Array.from({ length: 3 }, () => ({ type: 'rated' })));

      await queue.start();
      await until(() => starts.length === 3);

      expect(mostWithin(starts, window)).toBe(1);
    });

    it('holds for tick() too', async () => {
      const [queue] = await fleet(1, () => undefined);
      let runs = 0;
      queue?.register('rated', () => void (runs += 1), { rateLimit: { limit: 2, window: 600_000 } });
      await queue?.enqueueMany(Array.from({ length: 4 }, () => ({ type: 'rated' })));

      const ticks = [await queue?.tick(), await queue?.tick(), await queue?.tick()];

      expect({ ticks, runs }).toEqual({ ticks: [true, true, false], runs: 2 });
    });
  });
});

/** The most of these moments that lie in one window. */
function mostWithin(moments: readonly number[], window: number): number {
  return Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + window).length));
}
