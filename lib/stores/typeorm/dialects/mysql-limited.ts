import type { ClaimedJob } from '../../../model/job.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { toText, type Row } from '../job-row.js';
import { mostDueSeen, type DueKeys, type KeyHead, type KeySource } from '../../key-line.js';
import { mostCounted } from '../../limit-state.js';
import { toDueKeys } from '../keyed-claim.js';
import type { KeylessLooks } from '../keyless-looks.js';
import {
  claimLimited,
  toLockedState,
  type LimitChanges,
  type LimitedSteps,
  type LockedState,
  type LockedSteps,
} from '../limited-claim.js';
import { errorField } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import type { MysqlClaimer } from './mysql-claimer.js';
import { findHeads } from './mysql-heads.js';
import { dueKeysStatement } from './mysql-keys.js';
import {
  countRunningStatement,
  createLimitsStatement,
  lockLimitsStatement,
  lookAtLimitsStatement,
  saveLimitsStatement,
} from './mysql-limits.js';
import { retryDeadlock, type MysqlConnection, type MysqlConnections } from './mysql-pool.js';
import { run } from './mysql-statements.js';

export interface MysqlLimitedParts {
  readonly names: SqlNames;
  readonly connections: MysqlConnections;
  readonly claimer: MysqlClaimer;
  readonly keylessLooks: KeylessLooks;
}

const lockWaitTimeout = 1205;

/** Claims jobs of types with limits: a transaction for each type. Each of its statements sees what was committed before it. */
export function claimLimitedJobs(parts: MysqlLimitedParts, request: LimitedClaimRequest): Promise<LimitedClaimResult> {
  const { names, connections } = parts;
  const steps: LimitedSteps = {
    look: (types) => connections.use((connection) => look(connection, names, types)),
    locked: async (work) => {
      const inTransaction = (connection: MysqlConnection) => work(new MysqlLockedSteps(connection, parts));
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
  readonly keylessLooks: KeylessLooks;

  constructor(
    private readonly connection: MysqlConnection,
    private readonly parts: MysqlLimitedParts,
  ) {
    this.keylessLooks = parts.keylessLooks;
  }

  async lock(asked: AskedType): Promise<LockedState> {
    const { type } = asked;
    const row = await this.lockRow(type);
    if (mostCounted(asked) === 0) return toLockedState(row);
    const { rows } = await run(this.connection, countRunningStatement(this.parts.names.table, type));
    return toLockedState({ ...row, ...rows[0] });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const { claimer } = this.parts;
    const candidates = await claimer.candidatesOn(this.connection, request);
    const { jobs } = await claimer.claim(this.connection, candidates, request);
    return jobs;
  }

  async claimThese(ids: readonly string[], claim: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const { jobs } = await this.parts.claimer.claim(this.connection, { ids, isCut: false }, claim);
    return jobs;
  }

  async dueKeys(claim: ClaimRequest): Promise<DueKeys> {
    const { claimer, names } = this.parts;
    const streams = await claimer.streams(this.connection, claim);
    if (streams.length === 0) return { keys: [], hasKeyless: false, isComplete: true };
    const { rows } = await run(this.connection, dueKeysStatement(names.table, streams));
    return toDueKeys(rows, mostDueSeen);
  }

  heads(source: KeySource, claim: ClaimRequest): Promise<readonly KeyHead[]> {
    return findHeads(this.connection, this.parts.names, { source, claim });
  }

  async save(type: string, changes: LimitChanges): Promise<void> {
    await run(this.connection, saveLimitsStatement(this.parts.names.limits, type, changes));
  }

  private async lockRow(type: string): Promise<Row> {
    const { limits } = this.parts.names;
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
): Promise<readonly LockedState[]> {
  const { rows } = await run(connection, lookAtLimitsStatement(names, types));
  const waiting = rows.filter((row) => row['now_ms'] !== null);
  return waiting.map((row) => {
    const type = toText(row['job_type']);
    const of = (column: string): unknown =>
      rows.find((other) => other['job_type'] === type && other[column] !== null)?.[column];
    return toLockedState({ job_type: type, now_ms: row['now_ms'], running: of('running'), starts: of('starts') });
  });
}
