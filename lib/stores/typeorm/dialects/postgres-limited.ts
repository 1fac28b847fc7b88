import type { ClaimedJob } from '../../../model/job.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { mostCounted } from '../../limit-state.js';
import { mostDueSeen, type DueKeys, type KeyHead, type KeySource } from '../../key-line.js';
import { toDueKeys, toKeyHead } from '../keyed-claim.js';
import type { KeylessLooks } from '../keyless-looks.js';
import {
  claimLimited,
  toLockedState,
  type LimitChanges,
  type LimitedSteps,
  type LockedState,
  type LockedSteps,
} from '../limited-claim.js';
import type { Row } from '../job-row.js';
import type { SqlNames } from '../table-name.js';
import { claimedJob } from './postgres-claimed.js';
import { claimTheseStatement, exchangeStatement } from './postgres-exchange.js';
import { dueKeysStatement, headsStatement } from './postgres-keys.js';
import {
  countRunningStatement,
  createLimitsStatement,
  lockLimitsStatement,
  lookAtLimitsStatement,
  saveLimitsStatement,
} from './postgres-limits.js';
import { isLockNotAvailable } from './postgres-passing.js';
import { inPgTransaction, say, type PgPool, type PgQueryable } from './postgres-pool.js';

export interface PostgresLimitedParts {
  readonly names: SqlNames;
  readonly pool: PgPool;
  readonly keylessLooks: KeylessLooks;
  /** Repeats what the database refused for a passing reason. */
  readonly retried: <T>(run: () => Promise<T>) => Promise<T>;
}

/**
 * Nobody waits for the lock of a type for longer than a moment, since jobs of others wait meanwhile; and a process that stands still
 * while it has it loses it.
 */
const begin =
  'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 1000; SET LOCAL idle_in_transaction_session_timeout = 5000';

/** Claims jobs of types with limits: a transaction for each type, whose statements each see what was committed before the lock was had. */
export function claimLimitedJobs(
  parts: PostgresLimitedParts,
  request: LimitedClaimRequest,
): Promise<LimitedClaimResult> {
  const { names, pool, keylessLooks, retried } = parts;
  const steps: LimitedSteps = {
    look: async (types) => {
      const { rows } = await retried(() => say(pool, lookAtLimitsStatement(names, types)));
      return rows.map(toLockedState);
    },
    locked: async (work) => {
      try {
        const inTransaction = (client: PgQueryable) => work(new PgLockedSteps(client, names, keylessLooks));
        return await retried(() => inPgTransaction(pool, inTransaction, begin));
      } catch (error) {
        if (isLockNotAvailable(error)) return undefined;
        throw error;
      }
    },
  };
  return claimLimited(request, steps);
}

class PgLockedSteps implements LockedSteps {
  constructor(
    private readonly client: PgQueryable,
    private readonly names: SqlNames,
    readonly keylessLooks: KeylessLooks,
  ) {}

  async lock(asked: AskedType): Promise<LockedState> {
    const { table } = this.names;
    const { type } = asked;
    const row = await this.lockRow(type);
    if (mostCounted(asked) === 0) return toLockedState(row);
    const { rows } = await say(this.client, countRunningStatement(table, type, mostCounted(asked)));
    return toLockedState({ ...row, ...rows[0] });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const { rows } = await say(this.client, exchangeStatement(this.names, { settle: [], claim: request }));
    return rows.map(claimedJob);
  }

  async claimThese(ids: readonly string[], claim: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const { rows } = await say(this.client, claimTheseStatement(this.names.table, ids, claim));
    return rows.map(claimedJob);
  }

  async dueKeys(claim: ClaimRequest): Promise<DueKeys> {
    const { rows } = await say(this.client, dueKeysStatement(this.names, claim));
    return toDueKeys(rows, mostDueSeen);
  }

  async heads(source: KeySource, claim: ClaimRequest): Promise<readonly KeyHead[]> {
    const [type = ''] = claim.types ?? [];
    const { rows } = await say(this.client, headsStatement(this.names, { type, source }));
    return rows.map((row) => toKeyHead(row, claim));
  }

  async save(type: string, changes: LimitChanges): Promise<void> {
    await say(this.client, saveLimitsStatement(this.names.limits, type, changes));
  }

  private async lockRow(type: string): Promise<Row> {
    const { limits } = this.names;
    const { rows } = await say(this.client, lockLimitsStatement(limits, type));
    if (rows[0] !== undefined) return rows[0];
    await say(this.client, createLimitsStatement(limits, type));
    return this.lockRow(type);
  }
}
