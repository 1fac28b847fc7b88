import type { DataSource, EntityManager } from 'typeorm';
import type { JobContext } from '../../lib/model/job-context.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import type { JobStore } from '../../lib/stores/job-store.js';
import { someJobs } from '../support/a-job.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { claim, settlement, StoreRig } from '../support/store-rig.js';
import { until } from '../support/until.js';

const workers = 8;
const producers = 4;
const rounds = 25;
const recoverable = 200;
const fewKeys = 40;
const keyRounds = 50;
/** Long enough that no busy machine ends it; heartbeat and recovery are made busy by themselves. */
const lease = 60_000;

class PlannedRollback extends Error {}

/** What everybody did, kept outside of the queue. */
class Tally {
  readonly runs = new Map<string, number>();
  readonly stored: string[] = [];
  readonly rejected: unknown[] = [];

  /** A handler: every seventh job fails once. */
  readonly work = (key: unknown, { attempt }: JobContext): void => {
    const name = String(key);
    this.runs.set(name, (this.runs.get(name) ?? 0) + 1);
    if (this.failsOnce(name) && attempt === 1) throw new Error('once');
  };

  expectedRuns(): ReadonlyMap<string, number> {
    return new Map(this.stored.map((key) => [key, this.failsOnce(key) ? 2 : 1]));
  }

  private failsOnce(key: string): boolean {
    return Number(key.split('-').at(-1)) % 7 === 0;
  }
}

/** Enqueues one by one with eight on the way, in bulk, and in transactions that commit and roll back. */
async function produce(name: string, queue: PersistentJobQueue, dataSource: DataSource, tally: Tally): Promise<void> {
  let count = 0;
  const next = (): string => `${name}-${++count}`;
  const note = async (keys: readonly string[], store: Promise<unknown>): Promise<void> => {
    await store.then(() => tally.stored.push(...keys)).catch((error: unknown) => tally.rejected.push(error));
  };
  const together = async (manager: EntityManager, keys: readonly string[]): Promise<void> => {
    for (const key of keys) await queue.enqueue('work', key, { manager });
  };
  for (let round = 0; round < rounds; round++) {
    const singles = Array.from({ length: 8 }, () => {
      const key = next();
      return note([key], queue.enqueue('work', key));
    });
    const bulk = Array.from({ length: 5 }, next);
    const pair = [next(), next()];
    await Promise.all([
      ...singles,
      note(bulk, queue.enqueueMany(bulk.map((payload) => ({ type: 'work', payload })))),
      note(
        pair,
        dataSource.transaction((manager) => together(manager, pair)),
      ),
      dataSource
        .transaction(async (manager) => {
          await together(manager, [next(), next()]);
          throw new PlannedRollback();
        })
        .catch((error: unknown) => (error instanceof PlannedRollback ? undefined : tally.rejected.push(error))),
    ]);
  }
}

/** Enqueues of the same few keys, two in each transaction and one beside it, each without its transaction as well. */
async function contend(
  seed: number,
  queue: PersistentJobQueue,
  dataSource: DataSource,
  tally: KeyTally,
): Promise<void> {
  for (let round = 0; round < keyRounds; round++) {
    const [one, other, third] = [round * 7 + seed, round * 11 + 3 * seed + 1, round * 13 + 5 * seed + 2].map(
      (place) => `key-${place % fewKeys}`,
    );
    const enqueue = async (uniqueKey: string, manager?: EntityManager): Promise<number> => {
      const { outcome } = await queue.tryEnqueue('work', uniqueKey, { uniqueKey, ...(manager && { manager }) });
      return outcome === 'stored' ? 1 : 0;
    };
    await Promise.all([
      tally.counts(enqueue(String(third))),
      tally.countsUnlessVictim(
        dataSource.transaction(
          async (manager) => (await enqueue(String(one), manager)) + (await enqueue(String(other), manager)),
        ),
      ),
    ]);
  }
}

/** What became of enqueues with keys. */
class KeyTally {
  stored = 0;
  readonly rejected: unknown[] = [];
  /** Transactions of the app that the database sacrificed, to end a deadlock of theirs. */
  victims = 0;

  async counts(storing: Promise<number>): Promise<void> {
    await storing.then((count) => (this.stored += count)).catch((error: unknown) => this.rejected.push(error));
  }

  /** Only the app can repeat a transaction of its own: it has to see the error as the driver gave it. */
  async countsUnlessVictim(transaction: Promise<number>): Promise<void> {
    await this.counts(
      transaction.catch((error: unknown) => {
        if (!/^(40P01|ER_LOCK_DEADLOCK)$/.test(String(Reflect.get(Object(error), 'code')))) throw error;
        this.victims += 1;
        return 0;
      }),
    );
  }
}

/** Jobs as a dead worker leaves them: running, with a lease that is over. */
async function leaveBehind(store: JobStore, rig: StoreRig, tally: Tally): Promise<void> {
  const keys = Array.from({ length: recoverable }, (_, index) => `left-${index + 1}`);
  await store.insert(someJobs(recoverable).map((job, index) => ({ ...job, payload: JSON.stringify(keys[index]) })));
  await rig.set("status = 'running', claimed_by = 'dead', claim_token = created_at, lease_until = 1");
  tally.stored.push(...keys);
}

/** A process that holds fifty jobs, and renews, looks and recovers without a pause until told to end; then it completes them. */
async function holdBusily(store: JobStore, hasEnded: () => boolean): Promise<void> {
  await store.insert(someJobs(50, { type: 'held' }));
  const held = await claim(store, { types: ['held'], limit: 50, owner: 'holder' });
  const upkeep = { owner: 'holder', maxInterruptions: 3, backoffMs: 0, limit: 10 };
  const loop = async (say: () => Promise<unknown>): Promise<void> => {
    while (!hasEnded()) await say();
  };
  await Promise.all([
    loop(() => store.extend(held, lease)),
    loop(() => store.recover(upkeep)),
    loop(() => store.foreignClaims('holder')),
  ]);
  const { lost } = await store.exchange({ settle: held.map((job) => settlement(job)), claim: undefined });
  expect(lost).toEqual([]);
}

forEachDatabase(
  (database) => {
    let storeRig: StoreRig;
    let rig: QueueRig;
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);

    beforeEach(async () => {
      process.on('unhandledRejection', note);
      storeRig = new StoreRig(database);
      rig = new QueueRig(await storeRig.dataSource());
    });

    afterEach(async () => {
      process.off('unhandledRejection', note);
      await rig.close();
      await storeRig.clear();
    });

    it('workers, producers, heartbeats and recovery on one table lose, repeat and reject nothing', async () => {
      const tally = new Tally();
      const dataSource = await storeRig.dataSource();
      const store = await storeRig.open();
      await leaveBehind(store, storeRig, tally);
      const queues = await Promise.all(
        Array.from({ length: workers }, () => rig.queue({ workers: 1, lease, prefetch: 5, maxRetries: 5 })),
      );
      for (const queue of queues) queue.register('work', tally.work);
      await Promise.all(queues.map((queue) => queue.start()));

      let hasEnded = false;
      const holding = holdBusily(store, () => hasEnded);
      const producing = queues
        .slice(0, producers)
        .map((queue, index) => produce(`p${index}`, queue, dataSource, tally));
      await Promise.all(producing);
      await until(async () => (await rig.rows("job_type = 'work'")).length === 0, { within: 90_000 });
      hasEnded = true;
      await holding;

      expect(tally.rejected).toEqual([]);
      expect(tally.runs).toEqual(tally.expectedRuns());
      expect(await rig.rows()).toEqual([]);
      expect(unhandled).toEqual([]);
    }, 180_000);

    it('transactions that enqueue two of forty keys each lose and repeat nothing, and nothing else is rejected for them', async () => {
      const tally = new KeyTally();
      const dataSource = await storeRig.dataSource();
      const store = await storeRig.open();
      const queues = await Promise.all(
        Array.from({ length: workers }, () => rig.queue({ workers: 1, lease, prefetch: 5 })),
      );
      let runs = 0;
      for (const queue of queues) queue.register('work', () => void (runs += 1));
      await Promise.all(queues.map((queue) => queue.start()));

      let hasEnded = false;
      const holding = holdBusily(store, () => hasEnded);
      await Promise.all(queues.map((queue, index) => contend(index, queue, dataSource, tally)));
      await until(async () => (await rig.rows("job_type = 'work'")).length === 0, { within: 90_000 });
      hasEnded = true;
      await holding;

      expect(tally.rejected).toEqual([]);
      expect(tally.stored).toBeGreaterThan(fewKeys);
      expect(runs).toBe(tally.stored);
      expect(unhandled).toEqual([]);
    }, 180_000);
  },
  ['mysql', 'postgres'],
);
