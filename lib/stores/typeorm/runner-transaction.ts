import type { DataSource, QueryRunner } from 'typeorm';
import { InvalidManagerError } from '../../model/errors.js';
import type { JobTransaction } from '../../model/job-transaction.js';
import type { JobWrite } from '../job-store.js';
import { inJobScope } from './job-scope.js';
import { guardOf } from './rollbacks.js';
import { depthOf, sealable, type SealableRunner } from './sealed-runner.js';

/** How a database writes about a job on the connection of a query runner. */
export interface RunnerWrites {
  /** What its job has remembered, if the claim stands. */
  recall(runner: QueryRunner): Promise<{ readonly text: string | null } | undefined>;
  /** Says whether the claim stood. */
  write(runner: QueryRunner, write: JobWrite): Promise<boolean>;
  /** Whether the database has undone the whole transaction over this error of a statement, and goes on without one. */
  isUndoing(error: unknown): boolean;
  /** Ends the connection at once, which undoes what is open on it. */
  sever(runner: QueryRunner): Promise<void>;
}

/** A connection that does not answer a ROLLBACK is given up. */
const rollbackMs = 5_000;

/**
 * A transaction on a connection out of the app's pool. READ COMMITTED, whatever the app's default is: in a stricter one the heartbeat, which
 * writes the row of the job meanwhile, would make it fail.
 *
 * What the handler has left under way is refused from the moment of its end: behind the ROLLBACK, or the COMMIT, the connection would carry it
 * out by itself, outside of any transaction.
 */
export class RunnerTransaction implements JobTransaction<JobWrite> {
  readonly manager: object;
  private readonly own: SealableRunner;

  private constructor(
    dataSource: DataSource,
    private readonly runner: QueryRunner,
    private readonly writes: RunnerWrites,
  ) {
    this.own = sealable(
      runner,
      (own) => dataSource.createEntityManager(own),
      (error) => writes.isUndoing(error),
    );
    this.manager = this.own.runner.manager;
  }

  static async begin(dataSource: DataSource, writes: RunnerWrites): Promise<RunnerTransaction> {
    const runner = dataSource.createQueryRunner();
    try {
      await runner.startTransaction('READ COMMITTED');
    } catch (error) {
      // It has begun where a subscriber of the app has thrown afterwards, and must not go back to the pool.
      if (Number(depthOf(runner)) > 0) await writes.sever(runner).catch(() => undefined);
      await runner.release();
      throw error;
    }
    return new RunnerTransaction(dataSource, runner, writes);
  }

  run<T>(work: () => T): T {
    return inJobScope(this.manager, work);
  }

  recall(): Promise<{ readonly text: string | null } | undefined> {
    return this.writes.recall(this.runner);
  }

  async commit(write: JobWrite): Promise<boolean> {
    guardOf(this.runner);
    if (!(await this.writes.write(this.runner, write))) return false;
    this.refuseOpen(Number(depthOf(this.runner)) > 1);
    this.own.seal();
    await this.runner.commitTransaction();
    // One that was just being begun inside of it has been ended by that, and nothing else.
    this.refuseOpen(this.runner.isTransactionActive);
    await this.runner.release();
    return true;
  }

  async rollback(): Promise<void> {
    if (this.runner.isReleased) return;
    this.own.seal();
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), rollbackMs);
    });
    try {
      await Promise.race([this.undo(), overdue]);
      await this.runner.release();
    } catch {
      await this.kill();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Without its connection nothing that is still on its way can be carried out outside of the transaction. */
  async kill(): Promise<void> {
    if (this.runner.isReleased) return;
    this.own.seal();
    try {
      await this.writes.sever(this.runner);
      await this.runner.release();
    } catch {
      // What is gone needs no end.
    }
  }

  /** A commit would end the inner one alone, and leave what is around it open on a connection that goes back to the pool. */
  private refuseOpen(isOpen: boolean): void {
    if (!isOpen) return;
    throw new InvalidManagerError(
      'a transaction that was begun through job.manager was still open when the handler ended: await it inside of the handler',
    );
  }

  /** All of it, savepoints that were left open included. */
  private async undo(): Promise<void> {
    // What has passed the seal already is carried out before, and undone with the rest.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.runner.isTransactionActive) await this.runner.rollbackTransaction();
  }
}
