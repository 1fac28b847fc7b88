import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidManagerError } from 'nestjs-jobs';
import type { DataSource, EntityManager } from 'typeorm';
import * as transactional from 'typeorm-transactional';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const managers = new AsyncLocalStorage<EntityManager>();
const rollback = new Error('rolled back');

transactional.initializeTransactionalContext({ storageDriver: transactional.StorageDriver.ASYNC_LOCAL_STORAGE });

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

  /** Runs something in a transaction that code within it does not know of by an argument. */
  function inTransaction<T>(run: () => Promise<T>): Promise<T> {
    return dataSource.transaction((manager) => managers.run(manager, run));
  }

  describe('with the option transaction, enqueue', () => {
    const options = { transaction: () => managers.getStore() };

    it('joins the transaction around it: its jobs commit with it, and are seen then', async () => {
      const queue = await rig.queue(options);
      let seen: readonly unknown[] = [];

      await inTransaction(async () => {
        await queue.enqueue('work');
        await queue.enqueueMany([{ type: 'work' }, { type: 'work' }]);
        if (!database.isSqlite) seen = await rig.rows();
      });

      expect(seen).toEqual([]);
      expect(await rig.rows()).toHaveLength(3);
    });

    it('rolls back with it', async () => {
      const queue = await rig.queue(options);

      const transaction = inTransaction(async () => {
        await queue.enqueue('work');
        await queue.enqueueMany([{ type: 'work' }]);
        throw rollback;
      });

      await expect(transaction).rejects.toBe(rollback);
      expect(await rig.rows()).toEqual([]);
    });

    it('wakes the workers at the commit', async () => {
      const queue = await rig.queue({ ...options, pollInterval: 60_000 });
      const ran: unknown[] = [];
      queue.register('work', (payload) => ran.push(payload));
      await queue.start();

      await inTransaction(() => queue.enqueue('work', 1));

      await until(() => ran.length === 1);
    });

    it('stores the job by itself outside of a transaction', async () => {
      const queue = await rig.queue(options);
      await queue.enqueue('work');
      await managers.run(dataSource.manager, () => queue.enqueue('work'));
      const runner = dataSource.createQueryRunner();
      await managers.run(runner.manager, () => queue.enqueue('work'));
      await runner.release();

      expect(await rig.rows()).toHaveLength(3);
    });

    it('prefers the manager that it is given', async () => {
      const queue = await rig.queue({ transaction: () => 'never asked' });

      await dataSource.transaction((manager) => queue.enqueue('work', 1, { manager }));

      expect(await rig.rows()).toHaveLength(1);
    });

    it('refuses a transaction of another DataSource, and what is no manager', async () => {
      const other = await database.connect();
      const foreign = await rig.queue({ transaction: () => managers.getStore() });
      const odd = await rig.queue({ transaction: () => 'a manager' });

      await other.transaction((manager) =>
        managers.run(manager, () => expect(foreign.enqueue('work')).rejects.toThrow(InvalidManagerError)),
      );
      await expect(odd.enqueue('work')).rejects.toThrow(/option transaction must return an EntityManager.*'a manager'/);
    });

    if (!database.isSqlite) {
      it('stores the job by itself with { manager: null }', async () => {
        const queue = await rig.queue(options);

        const transaction = inTransaction(async () => {
          await queue.enqueue('work', null, { manager: null });
          await queue.enqueueMany([{ type: 'work' }], { manager: null });
          throw rollback;
        });

        await expect(transaction).rejects.toBe(rollback);
        expect(await rig.rows()).toHaveLength(2);
      });
    }
  });

  describe('in typeorm-transactional, enqueue', () => {
    const { runInTransaction, Propagation } = transactional;
    const connectionName = `test ${database.name}`;

    beforeEach(() => {
      transactional.addTransactionalDataSource({ name: connectionName, dataSource });
    });

    afterEach(() => {
      transactional.deleteDataSourceByName(connectionName);
    });

    it('joins without any option', async () => {
      const queue = await rig.queue();

      await runInTransaction(() => queue.enqueue('work'), { connectionName });
      const failed = runInTransaction(
        async () => {
          await queue.enqueue('work');
          await queue.enqueueMany([{ type: 'work' }]);
          throw rollback;
        },
        { connectionName },
      );

      await expect(failed).rejects.toBe(rollback);
      expect(await rig.rows()).toHaveLength(1);
    });

    it('rolls back with a nested transaction alone', async () => {
      const queue = await rig.queue();

      await runInTransaction(
        async () => {
          await queue.enqueue('outer');
          const nested = runInTransaction(
            async () => {
              await queue.enqueue('inner');
              throw rollback;
            },
            { connectionName, propagation: Propagation.NESTED },
          );
          await expect(nested).rejects.toBe(rollback);
        },
        { connectionName },
      );

      expect((await rig.rows()).map((row) => row.job_type)).toEqual(['outer']);
    });

    it('wakes the workers at the commit', async () => {
      const queue = await rig.queue({ pollInterval: 60_000 });
      const ran: unknown[] = [];
      queue.register('work', (payload) => ran.push(payload));
      await queue.start();

      await runInTransaction(() => queue.enqueue('work', 1), { connectionName });

      await until(() => ran.length === 1);
    });

    it('stores the job by itself outside of a transaction', async () => {
      const queue = await rig.queue();

      await queue.enqueue('work');

      expect(await rig.rows()).toHaveLength(1);
    });
  });
});
