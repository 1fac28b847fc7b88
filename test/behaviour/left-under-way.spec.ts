import type { DataSource, EntityManager } from 'typeorm';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import type { JobContext } from '../../lib/model/job-context.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

/** What goes on in one transaction beside the one whose error ends it. */
forEachDatabase((database) => {
  let dataSource: DataSource;
  let rig: QueueRig;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    dataSource = await database.connect();
    await dataSource.query('CREATE TABLE effects (what VARCHAR(100) NOT NULL)');
    rig = new QueueRig(dataSource);
    queue = await rig.queue();
  });

  afterEach(async () => {
    await rig.close();
    await database.clear();
  });

  /** Goes on step by step until one is refused. */
  async function stepByStep(step: (number: number) => Promise<unknown>): Promise<void> {
    for (let number = 0; number < 200; number += 1) await step(number);
  }

  /** Ends in the middle of that, at another place each time. */
  async function failAfter(ms: number): Promise<never> {
    await new Promise((resolve) => setTimeout(resolve, ms));
    throw new Error('declined');
  }

  function handle(work: (manager: EntityManager, payload: unknown) => Promise<void>): void {
    const run = (payload: unknown, { manager }: JobContext<EntityManager>): Promise<void> => work(manager, payload);
    queue.register('work', run, { transactional: true });
  }

  async function effects(): Promise<number> {
    const rows: unknown[] = await dataSource.query('SELECT what FROM effects');
    return rows.length;
  }

  const enqueueing = {
    'a job': (manager: EntityManager) => queue.enqueue('work', {}, { manager }),
    'a job with a key': (manager: EntityManager, key: string) => queue.enqueue('work', {}, { manager, uniqueKey: key }),
    'many jobs': (manager: EntityManager, key: string) =>
      queue.enqueueMany([{ type: 'work', uniqueKey: key }, { type: 'work' }], { manager }),
    'a batch': (manager: EntityManager) => queue.enqueueBatch([{ type: 'work' }, { type: 'work' }], { manager }),
  };

  it.each(Object.entries(enqueueing))(
    'a transaction that rolls back with %s on its way leaves nothing of that',
    async (_what, enqueue) => {
      for (let round = 0; round < 10; round += 1) {
        const doing = dataSource.transaction(async (manager) => {
          const enqueueAll = stepByStep((number) => enqueue(manager, `${round}-${number}`));
          await Promise.all([enqueueAll, failAfter(round % 4)]);
        });
        await expect(doing).rejects.toThrow('declined');
        // What is still on its way arrives.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }

      expect(await rig.rows()).toEqual([]);
    },
  );

  it('a savepoint that is rolled back does not close the transaction around it', async () => {
    await dataSource.transaction(async (manager) => {
      await manager
        .transaction(async (inner) => {
          await queue.enqueue('never', {}, { manager: inner });
          throw new Error('declined');
        })
        .catch(() => undefined);
      await queue.enqueue('work', {}, { manager });
    });

    expect(await rig.rows()).toMatchObject([{ job_type: 'work' }]);
  });

  it('a transactional handler that fails while others write for it leaves nothing of that', async () => {
    handle(async (manager, ms) => {
      const writing = stepByStep(() => manager.query("INSERT INTO effects (what) VALUES ('a')"));
      await Promise.all([writing, failAfter(Number(ms))]);
    });
    const jobs = Array.from({ length: 10 }, (_one, index) => ({ type: 'work', payload: index % 4, maxRetries: 0 }));
    await queue.enqueueMany(jobs);

    for (let round = 0; round < 10; round += 1) await queue.tick();

    expect(await effects()).toBe(0);
    expect(await rig.rows("last_error = 'declined'")).toHaveLength(10);
  });

  it('a transactional handler that leaves a transaction open inside of its own is never half committed', async () => {
    let inner: Promise<unknown> = Promise.resolve();
    handle(async (manager) => {
      await manager.query("INSERT INTO effects (what) VALUES ('a')");
      inner = manager
        .transaction(async (deeper) => {
          await deeper.query("INSERT INTO effects (what) VALUES ('b')");
          await new Promise((resolve) => setTimeout(resolve, 50));
        })
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    await queue.enqueue('work');

    await queue.tick();
    await inner;

    if (database.isSqlite) {
      // On the one connection it may be anybody's, so it is waited for.
      expect([await effects(), await rig.rows()]).toEqual([2, []]);
      return;
    }
    expect(await effects()).toBe(0);
    expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await rig.row()).toMatchObject({ last_error: expect.stringContaining('await it inside of the handler') });
  });

  if (!database.isSqlite) {
    it('a transaction that is refused just after its begin is not left open on a connection of the pool', async () => {
      const narrow = await database.connect({ poolSize: 1 });
      narrow.subscribers.push({
        afterTransactionStart: () => {
          throw new Error('no transactions today');
        },
      });
      queue = await new QueueRig(narrow).queue();
      handle(async () => undefined);
      await queue.enqueue('work');

      await queue.tick();
      await narrow.query("INSERT INTO effects (what) VALUES ('a')");

      expect(await rig.row()).toMatchObject({ attempts: 1, last_error: expect.stringContaining('no transactions') });
      expect(await effects()).toBe(1);
      await queue.close();
    });
  }

  if (database.name === 'mysql') {
    it('a transactional handler that goes on after a deadlock, for which the server has undone everything, is not half committed', async () => {
      await dataSource.query('CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)');
      const rows = Array.from({ length: 50 }, (_one, id) => `(${id}, 0)`);
      await dataSource.query(`INSERT INTO accounts (id, cents) VALUES ${rows.join(', ')}`);
      const pay = (id: number): string => `UPDATE accounts SET cents = cents + 1 WHERE id = ${id}`;
      const rival = dataSource.createQueryRunner();
      await rival.startTransaction();
      // The server chooses whoever has changed less.
      await rival.query('UPDATE accounts SET cents = cents + 1 WHERE id >= 10');
      let errors = 0;
      handle(async (manager) => {
        await manager.query("INSERT INTO effects (what) VALUES ('debit')");
        await manager.query(pay(1));
        const paying = manager.query(pay(20));
        const rivals = rival.isReleased ? undefined : failAfter(50).catch(() => rival.query(pay(1)));
        await paying.catch(() => (errors += 1));
        await rivals;
        if (!rival.isReleased) await rival.commitTransaction().then(() => rival.release());
        await manager.query("INSERT INTO effects (what) VALUES ('credit')").catch(() => undefined);
      });
      await queue.enqueue('work');

      await queue.tick();
      expect([errors, await effects()]).toEqual([1, 0]);
      expect(await rig.row()).toMatchObject({ attempts: 1, last_error: expect.stringContaining('deadlock') });

      await until(() => queue.tick());
      expect([errors, await effects()]).toEqual([1, 2]);
    });
  }
});
