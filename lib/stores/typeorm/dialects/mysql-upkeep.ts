import { interruptedLine } from '../../../model/attempt-history.js';
import { JobState } from '../../../model/job-state.js';
import type { PruneRequest, RecoverRequest } from '../../job-store.js';
import { interruptionError } from '../job-row.js';
import { byId, inList, mysqlAppended, mysqlNowMs, type MysqlStatement } from './mysql-statements.js';

const { Pending, Running, Failed } = JobState;

/** Which rows are due again: their lease is over or missing, or their owner is proven to be dead. */
function expired({ owner, deadOwners = [] }: RecoverRequest): MysqlStatement {
  const dead = inList(deadOwners);
  return {
    text: `status = '${Running}' AND (claimed_by IS NULL OR claimed_by <> ?)
      AND (lease_until IS NULL OR lease_until <= ${mysqlNowMs} OR claimed_by IN (${dead.marks}))`,
    values: [owner, ...dead.values],
  };
}

export function foreignClaimsStatement(table: string, owner: string): MysqlStatement {
  return {
    text: `SELECT claimed_by, MIN(lease_until) - ${mysqlNowMs} AS ends, COUNT(*) - COUNT(lease_until) AS without_lease
      FROM ${table}
      WHERE status = '${Running}' AND (claimed_by IS NULL OR claimed_by <> ?)
      GROUP BY claimed_by`,
    values: [owner],
  };
}

/** Looks without a lock; the ids are tried for afterwards. */
export function expiredStatement(table: string, request: RecoverRequest): MysqlStatement {
  const most = Math.max(1, Math.floor(request.limit));
  const { text, values } = expired(request);
  return { text: `SELECT id FROM ${table} WHERE ${text} ORDER BY lease_until, id LIMIT ${most}`, values };
}

/** Which of these are expired still, locked until the transaction ends; those that another process recovers are passed over. */
export function lockExpiredStatement(table: string, ids: readonly string[], request: RecoverRequest): MysqlStatement {
  const list = inList(ids);
  const { text, values } = expired(request);
  return {
    text: `SELECT id FROM ${byId(table)} WHERE id IN (${list.marks}) AND ${text} ORDER BY id FOR UPDATE SKIP LOCKED`,
    values: [...list.values, ...values],
  };
}

/**
 * The end of a lease counts as an interruption unless the claim was given up on purpose: then `claimed_by` is null. MySQL assigns from
 * left to right, so what others are computed from comes last.
 */
export function recoverStatement(table: string, ids: readonly string[], request: RecoverRequest): MysqlStatement {
  const list = inList(ids);
  const { maxInterruptions, backoffMs } = request;
  const [before, after] = interruptionError(maxInterruptions);
  const isFailed = 'claimed_by IS NOT NULL AND interruptions + 1 >= ?';
  return {
    text: `UPDATE ${byId(table)}
      SET status = CASE WHEN ${isFailed} THEN '${Failed}' ELSE '${Pending}' END,
        last_error = CASE WHEN ${isFailed} THEN CONCAT(?, interruptions + 1, ?) ELSE last_error END,
        next_run_at = CASE
          WHEN ${isFailed} THEN next_run_at
          WHEN claimed_by IS NOT NULL AND interruptions > 0 THEN ${mysqlNowMs} + interruptions * ?
          ELSE LEAST(next_run_at, ${mysqlNowMs})
        END,
        finished_at = CASE WHEN ${isFailed} THEN ${mysqlNowMs} END,
        keep_until = NULL,
        history = ${mysqlAppended('history', 'CASE WHEN claimed_by IS NOT NULL THEN CONCAT(?, attempts + 1, ?) END')},
        interruptions = interruptions + CASE WHEN claimed_by IS NULL THEN 0 ELSE 1 END,
        claimed_by = NULL,
        claim_token = NULL,
        lease_until = NULL
      WHERE id IN (${list.marks})`,
    values: [
      maxInterruptions,
      maxInterruptions,
      before,
      after,
      maxInterruptions,
      backoffMs,
      maxInterruptions,
      ...interruptedLine,
      ...list.values,
    ],
  };
}

export function recoveredStatement(table: string, ids: readonly string[]): MysqlStatement {
  const list = inList(ids);
  return {
    text: `SELECT id, job_type, interruptions, status FROM ${table} WHERE id IN (${list.marks})`,
    values: list.values,
  };
}

/**
 * By ids that were looked up without a lock: a locking search by time would lock what it passes. Both orders are that of the index, so
 * that no more rows are read than go.
 */
export function prunableStatements(table: string, request: PruneRequest): readonly MysqlStatement[] {
  const most = Math.max(1, Math.floor(request.limit));
  return overParts(request).map(({ text, values, order }) => ({
    text: `SELECT id FROM ${table} WHERE ${text} ORDER BY ${order} LIMIT ${most}`,
    values,
  }));
}

export function pruneStatement(table: string, ids: readonly string[], request: PruneRequest): MysqlStatement {
  const list = inList(ids);
  const parts = overParts(request);
  return {
    text: `DELETE j FROM ${table} AS j FORCE INDEX (PRIMARY)
      WHERE id IN (${list.marks}) AND (${parts.map(({ text }) => `(${text})`).join(' OR ')})`,
    values: [...list.values, ...parts.flatMap(({ values }) => values)],
  };
}

/** Which jobs of a state are over for long enough: those with a moment of their own, and the others. */
function overParts({ state, endedForMs }: PruneRequest): readonly (MysqlStatement & { readonly order: string })[] {
  const kept = {
    text: `keep_until <= ${mysqlNowMs} AND status = ? AND finished_at IS NOT NULL`,
    values: [state],
    order: 'keep_until, finished_at',
  };
  if (!Number.isFinite(endedForMs)) return [kept];
  const others = {
    text: `keep_until IS NULL AND finished_at <= ${mysqlNowMs} - ? AND status = ?`,
    values: [endedForMs, state],
    order: 'finished_at',
  };
  return [kept, others];
}

/** Looks without a lock at what stands under this owner's name. */
export function ownedStatement(table: string, owner: string): MysqlStatement {
  return {
    text: `SELECT id, claim_token FROM ${table} WHERE status = '${Running}' AND claimed_by = ?`,
    values: [owner],
  };
}

export function disownStatement(table: string, owner: string, ids: readonly string[]): MysqlStatement {
  const list = inList(ids);
  return {
    text: `UPDATE ${byId(table)}
      SET status = '${Pending}', claim_token = NULL, claimed_by = NULL, lease_until = NULL
      WHERE id IN (${list.marks}) AND status = '${Running}' AND claimed_by = ?`,
    values: [...list.values, owner],
  };
}

/** The server steps through the index from type to type: it looks at one entry of each, not at one for each job. */
export function pendingTypesStatement(table: string): MysqlStatement {
  return { text: `SELECT job_type FROM ${table} WHERE status = '${Pending}' GROUP BY status, job_type`, values: [] };
}
