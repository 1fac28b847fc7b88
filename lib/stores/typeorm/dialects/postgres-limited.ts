import type { ClaimedJob } from '../../../model/job.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { mostCounted, type LimitState } from '../../limit-state.js';
import { claimLimited, toLimitState, type LimitedSteps, type LockedSteps } from '../limited-claim.js';
import type { Row } from '../job-row.js';
import { errorField } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import { claimedJob } from './postgres-claimed.js';
import { exchangeStatement } from './postgres-exchange.js';
import {
  countRunningStatement,
  createLimitsStatement,
  lockLimitsStatement,
  lookAtLimitsStatement,
  saveStartsStatement,
} from './postgres-limits.js';
import { inPgTransaction, type PgPool, type PgQueryable, type PgResult } from './postgres-pool.js';
import type { PgStatement } from './postgres-values.js';

export interface PostgresLimitedParts {
  readonly names: SqlNames;
  readonly pool: PgPool;
  /** Repeats what the database refused for a passing reason. */
  readonly retried: <T>(run: () => Promise<T>) => Promise<T>;
}

/**
 * Nobody waits for the lock of a type for longer than a moment, since jobs of others wait meanwhile; and a process that stands still
 * while it has it loses it.
 */
const begin =
  'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 1000; SET LOCAL idle_in_transaction_session_timeout = 5000';
const lockNotAvailable = '55P03';

/** Claims jobs of types with limits: a transaction for each type, whose statements each see what was committed before the lock was had. */
export function claimLimitedJobs(
  parts: PostgresLimitedParts,
  request: LimitedClaimRequest,
): Promise<LimitedClaimResult> {
  const { names, pool, retried } = parts;
  const steps: LimitedSteps = {
    look: async (types) => {
      const { rows } = await retried(() => say(pool, lookAtLimitsStatement(names, types)));
      return rows.map(toLimitState);
    },
    locked: async (work) => {
      try {
        return await retried(() => inPgTransaction(pool, (client) => work(new PgLockedSteps(client, names)), begin));
      } catch (error) {
        if (errorField(error, 'code') === lockNotAvailable) return undefined;
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
  ) {}

  async lock(asked: AskedType): Promise<LimitState> {
    const { table } = this.names;
    const { type } = asked;
    const row = await this.lockRow(type);
    if (mostCounted(asked) === 0) return toLimitState(row);
    const { rows } = await say(this.client, countRunningStatement(table, type, mostCounted(asked)));
    return toLimitState({ ...row, ...rows[0] });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedJob[]> {
    const { rows } = await say(this.client, exchangeStatement(this.names, { settle: [], claim: request }));
    return rows.map(claimedJob);
  }

  async save(type: string, starts: string): Promise<void> {
    await say(this.client, saveStartsStatement(this.names.limits, type, starts));
  }

  private async lockRow(type: string): Promise<Row> {
    const { limits } = this.names;
    const { rows } = await say(this.client, lockLimitsStatement(limits, type));
    if (rows[0] !== undefined) return rows[0];
    await say(this.client, createLimitsStatement(limits, type));
    return this.lockRow(type);
  }
}

function say(client: PgQueryable, { text, values }: PgStatement): Promise<PgResult> {
  return client.query(text, values);
}
