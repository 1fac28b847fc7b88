import type { DataSource, QueryRunner } from 'typeorm';
import { show } from '../../model/check.js';
import { InvalidManagerError } from '../../model/errors.js';
import { guardOf } from './rollbacks.js';
import { sharedRunner } from './sealed-runner.js';

/** What is asked of TypeORM's EntityManager. */
interface Manager {
  readonly dataSource: unknown;
  readonly queryRunner?: QueryRunner | undefined;
}

const mend = 'use the manager that dataSource.transaction(async (manager) => ...) hands out, or leave { manager } out';

/**
 * The query runner of the transaction that the caller's manager works in.
 *
 * @throws InvalidManagerError unless that transaction is open, and of this DataSource.
 */
export function runnerOf(manager: unknown, dataSource: DataSource): QueryRunner {
  if (!isManager(manager)) {
    throw new InvalidManagerError(`manager must be the EntityManager of a transaction, got ${show(manager)}; ${mend}`);
  }
  if (manager.dataSource !== dataSource) {
    throw new InvalidManagerError(
      'the manager belongs to another DataSource than this queue; open the transaction on the DataSource of the queue',
    );
  }
  const { queryRunner } = manager;
  if (queryRunner === undefined) throw new InvalidManagerError(`the manager is in no transaction; ${mend}`);
  if (queryRunner.isReleased) {
    throw new InvalidManagerError(
      "the manager's transaction is over and its connection released; await enqueue before the transaction ends",
    );
  }
  if (!queryRunner.isTransactionActive) {
    throw new InvalidManagerError(`the manager's query runner has no open transaction; start one first, or ${mend}`);
  }
  const runner = sharedRunner(queryRunner);
  guardOf(runner);
  return runner;
}

function isManager(value: unknown): value is Manager {
  return typeof value === 'object' && value !== null && 'dataSource' in value;
}
