import type { ClaimedJob } from '../../../model/job.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { toText, type Row } from '../job-row.js';
import { mostCounted, type LimitState } from '../../limit-state.js';
import { claimLimited, toLimitState, type LimitedSteps, type LockedSteps } from '../limited-claim.js';
import { errorField } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import type { MysqlClaimer } from './mysql-claimer.js';
import {
  countRunningStatement,
  createLimitsStatement,
  lockLimitsStatement,
  lookAtLimitsStatement,
  saveStartsStatement,
} from './mysql-limits.js';
import { retryDeadlock, type MysqlConnection, type MysqlConnections } from './mysql-pool.js';
import { run } from './mysql-statements.js';

export interface MysqlLimitedParts {
  readonly names: SqlNames;
  readonly connections: MysqlConnections;
  readonly claimer: MysqlClaimer;
}

const lockWaitTimeout = 1205;

/** Claims jobs of types with limits: a transaction for each type. Each of its statements sees what was committed before it. */
export function claimLimitedJobs(
  { names, connections, claimer }: MysqlLimitedParts,
  request: LimitedClaimRequest,
): Promise<LimitedClaimResult> {
  const steps: LimitedSteps = {
    look: (types) => connections.use((connection) => look(connection, names, types)),
    locked: async (work) => {
      const inTransaction = (connection: MysqlConnection) => work(new MysqlLockedSteps(connection, names, claimer));
      try {
        return await retryDeadlock(() => connections.transaction(inTransaction));
      } catch (error) {
        if (Number(errorField(error, 'errno')) === lockWaitTimeout) return undefined;
        throw error;
      }
    },
  };
  return claimLimited(request, steps);
}

class MysqlLockedSteps implements LockedSteps {
  constructor(
    private readonly connection: MysqlConnection,
    private readonly names: SqlNames,
    private readonly claimer: MysqlClaimer,
  ) {}

  async lock(asked: AskedType): Promise<LimitState> {
    const { type } = asked;
    const row = await this.lockRow(type);
    if (mostCounted(asked) === 0) return toLimitState(row);
    const { rows } = await run(this.connection, countRunningStatement(this.names.table, type));
    return toLimitState({ ...row, ...rows[0] });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const candidates = await this.claimer.candidatesOn(this.connection, request);
    return this.claimer.claim(this.connection, candidates, request);
  }

  async save(type: string, starts: string): Promise<void> {
    await run(this.connection, saveStartsStatement(this.names.limits, type, starts));
  }

  private async lockRow(type: string): Promise<Row> {
    const { limits } = this.names;
    const { rows } = await run(this.connection, lockLimitsStatement(limits, type));
    if (rows[0] !== undefined) return rows[0];
    await run(this.connection, createLimitsStatement(limits, type));
    return this.lockRow(type);
  }
}

/** Puts together what the look says of each type that waits. */
async function look(
  connection: MysqlConnection,
  names: SqlNames,
  types: readonly AskedType[],
): Promise<readonly LimitState[]> {
  const { rows } = await run(connection, lookAtLimitsStatement(names, types));
  const waiting = rows.filter((row) => row['now_ms'] !== null);
  return waiting.map((row) => {
    const type = toText(row['job_type']);
    const of = (column: string): unknown =>
      rows.find((other) => other['job_type'] === type && other[column] !== null)?.[column];
    return toLimitState({ job_type: type, now_ms: row['now_ms'], running: of('running'), starts: of('starts') });
  });
}
