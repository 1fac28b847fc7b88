import type { QueryRunner } from 'typeorm';
import { JobState } from '../../../model/job-state.js';
import type { Lease } from '../../../model/job.js';
import type { JobWrite } from '../../job-store.js';
import { hasFunctions } from '../guard.js';
import { isGone, toSettledRow } from '../job-row.js';
import type { RunnerWrites } from '../runner-transaction.js';
import { connectionOf } from './mysql-inserter.js';
import { execute, isDeadlock, noTimeout, type MysqlResult } from './mysql-pool.js';
import { byId, deleteCompletedStatement, settleStatement, type MysqlStatement } from './mysql-statements.js';

/** What is written about a job on a connection of the app's. All texts are ASCII, since that may have any character set. */
export class MysqlWrites implements RunnerWrites {
  constructor(
    private readonly table: string,
    private readonly lease: Lease,
  ) {}

  async recall(runner: QueryRunner): Promise<{ readonly text: string | null } | undefined> {
    const text = `SELECT remembered FROM ${byId(this.table)} WHERE ${this.isHeld}`;
    const [row] = (await say(runner, { text, values: this.held })).rows;
    if (row === undefined) return undefined;
    const remembered = row['remembered'];
    return { text: typeof remembered === 'string' ? remembered : null };
  }

  async write(runner: QueryRunner, write: JobWrite): Promise<boolean> {
    return (await say(runner, this.statementOf(write))).affected === 1;
  }

  isUndoing(error: unknown): boolean {
    return isDeadlock(error);
  }

  async sever(runner: QueryRunner): Promise<void> {
    const connection: unknown = await runner.connect();
    if (hasFunctions(connection, ['destroy'])) (connection as { destroy(): void }).destroy();
  }

  private statementOf(write: JobWrite): MysqlStatement {
    if (write.kind === 'remember') {
      const text = `UPDATE ${byId(this.table)} SET remembered = CONCAT(COALESCE(remembered, ''), ?) WHERE ${this.isHeld}`;
      return { text, values: [write.line, ...this.held] };
    }
    const { settlement } = write;
    return isGone(settlement)
      ? deleteCompletedStatement(this.table, [settlement])
      : settleStatement(this.table, [toSettledRow(settlement)]);
  }

  private readonly isHeld = `id = ? AND claim_token = ? AND status = '${JobState.Running}'`;

  private get held(): readonly string[] {
    return [this.lease.id, this.lease.token];
  }
}

async function say(runner: QueryRunner, { text, values }: MysqlStatement): Promise<MysqlResult> {
  return execute(await connectionOf(runner), text, values, noTimeout);
}
