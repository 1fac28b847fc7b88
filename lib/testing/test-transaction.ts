import type { Lease } from '../model/job.js';
import type { JobTransaction } from '../model/job-transaction.js';
import type { JobWrite } from '../stores/job-store.js';
import { inJobScope } from '../stores/typeorm/job-scope.js';
import { fieldOf } from './commits.js';
import type { TestTable } from './test-table.js';

/** What is asked of TypeORM's query runner. */
interface Runner {
  readonly manager: object;
  readonly isTransactionActive: boolean;
  startTransaction(): Promise<void>;
  commitTransaction(): Promise<void>;
  rollbackTransaction(): Promise<void>;
  release(): Promise<void>;
}

/** A transaction of the app's DataSource, where it has a real one; without one only the job is written, and the manager is an empty object. */
export async function beginTestTransaction(
  dataSource: unknown,
  table: TestTable,
  lease: Lease,
): Promise<JobTransaction<JobWrite>> {
  const runner = await runnerOf(dataSource);
  const manager: object = runner?.manager ?? {};
  const rollback = async (): Promise<void> => {
    if (runner?.isTransactionActive === true) await runner.rollbackTransaction();
    await runner?.release();
  };
  return {
    manager,
    run: (work) => inJobScope(manager, work),
    recall: async () => {
      const row = table.held(lease);
      return row === undefined ? undefined : { text: row.remembered ?? null };
    },
    commit: async (write) => {
      if (table.held(lease) === undefined) return false;
      await runner?.commitTransaction();
      await runner?.release();
      return table.write(lease, write);
    },
    rollback,
    kill: rollback,
  };
}

async function runnerOf(dataSource: unknown): Promise<Runner | undefined> {
  const create = fieldOf(dataSource, 'createQueryRunner');
  if (typeof create !== 'function') return undefined;
  const runner = Reflect.apply(create, dataSource, []) as Runner | undefined;
  await runner?.startTransaction();
  return runner;
}
