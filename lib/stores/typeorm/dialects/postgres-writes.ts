import type { QueryRunner } from 'typeorm';
import { JobState } from '../../../model/job-state.js';
import type { Lease } from '../../../model/job.js';
import type { JobWrite } from '../../job-store.js';
import type { TableNames } from '../admin/sql-text.js';
import { hasFunctions } from '../guard.js';
import type { RunnerWrites } from '../runner-transaction.js';
import { exchangeStatement } from './postgres-exchange.js';
import { clientOf, say } from './postgres-pool.js';

/**
 * The row of the job is locked from its write to the commit, and heartbeats wait for it. Should the process stand still, or its connection go
 * silent, just then, the server ends the transaction.
 */
const idleLimit = "SELECT set_config('idle_in_transaction_session_timeout', '5s', true)";

/** What is written about a job on a connection of the app's. */
export class PostgresWrites implements RunnerWrites {
  constructor(
    private readonly names: () => TableNames,
    private readonly lease: Lease,
  ) {}

  async recall(runner: QueryRunner): Promise<{ readonly text: string | null } | undefined> {
    const { id, token } = this.lease;
    const text = `SELECT remembered FROM ${this.names().table}
      WHERE id = $1::uuid AND claim_token = $2::bigint AND status = '${JobState.Running}'`;
    const [row] = (await say(await clientOf(runner), { text, values: [id, token] })).rows;
    if (row === undefined) return undefined;
    const remembered = row['remembered'];
    return { text: typeof remembered === 'string' ? remembered : null };
  }

  async write(runner: QueryRunner, write: JobWrite): Promise<boolean> {
    const client = await clientOf(runner);
    await client.query(idleLimit);
    if (write.kind === 'remember') return this.remember(runner, write.line);
    const statement = exchangeStatement(this.names(), { settle: [write.settlement], claim: undefined });
    return (await say(client, statement)).rows.length === 0;
  }

  /** Until the end of the transaction it refuses everything by itself. */
  isUndoing(): boolean {
    return false;
  }

  /** The pool does not keep a client that has been told to end; with a statement under way that happens at once. */
  async sever(runner: QueryRunner): Promise<void> {
    const client: unknown = await runner.connect();
    if (hasFunctions(client, ['end'])) void (client as { end(): Promise<void> }).end();
  }

  private async remember(runner: QueryRunner, line: string): Promise<boolean> {
    const { id, token } = this.lease;
    const text = `UPDATE ${this.names().table} SET remembered = COALESCE(remembered, '') || $3::text
      WHERE id = $1::uuid AND claim_token = $2::bigint AND status = '${JobState.Running}'`;
    return (await say(await clientOf(runner), { text, values: [id, token, line] })).rowCount === 1;
  }
}
