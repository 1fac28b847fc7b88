import { JobState } from '../../../model/job-state.js';
import { claimedColumns } from '../job-row.js';
import type { SqliteHandle, SqliteStatement } from './sqlite-handle.js';

const { Pending, Running, Failed } = JobState;

/**
 * The statements of one connection, each prepared when it is first needed: once for every connection. Values are bound in the order of
 * their marks; moments are epoch milliseconds of this process's clock.
 */
export class SqliteStatements {
  private readonly texts: Readonly<Record<StatementName, string>>;
  private readonly prepared = new Map<string, SqliteStatement>();

  constructor(
    private readonly handle: SqliteHandle,
    table: string,
  ) {
    this.texts = { ...workingTexts(table), ...upkeepTexts(table) };
  }

  /** @param copy Several cursors over one text need a statement each. */
  get(name: StatementName, copy = 0): SqliteStatement {
    const key = `${name} ${copy}`;
    const known = this.prepared.get(key);
    if (known !== undefined) return known;
    const statement = this.handle.prepare(this.texts[name]);
    this.prepared.set(key, statement);
    return statement;
  }
}

type StatementName = keyof ReturnType<typeof workingTexts> | keyof ReturnType<typeof upkeepTexts>;

function workingTexts(table: string) {
  return {
    /** id, job_type, payload, max_retries, next_run_at, created_at */
    insert: `
      INSERT INTO ${table} (id, job_type, payload, status, max_retries, next_run_at, created_at)
      VALUES (?, ?, ?, '${Pending}', ?, ?, ?)`,
    /** The same, and context */
    insertWithContext: `
      INSERT INTO ${table} (id, job_type, payload, status, max_retries, next_run_at, created_at, context)
      VALUES (?, ?, ?, '${Pending}', ?, ?, ?, ?)`,
    /** id, claim_token */
    deleteCompleted: `DELETE FROM ${table} WHERE id = ? AND claim_token = ?`,
    /** status, added attempts, next_run_at or null, last_error or null, finished_at or null, status again, id, claim_token */
    settle: `
      UPDATE ${table}
      SET status = ?,
        attempts = attempts + ?,
        next_run_at = COALESCE(?, next_run_at),
        last_error = COALESCE(?, last_error),
        finished_at = ?,
        claim_token = NULL,
        claimed_by = NULL,
        lease_until = CASE WHEN ? = '${Running}' THEN lease_until END
      WHERE id = ? AND claim_token = ?`,
    /** job_type, now, most interruptions, limit */
    due: `
      SELECT ${claimedColumns.join(', ')}, next_run_at, rowid AS place FROM ${table}
      WHERE status = '${Pending}' AND job_type = ? AND next_run_at <= ? AND interruptions <= ?
      ORDER BY next_run_at, id
      LIMIT ?`,
    /** claim_token, claimed_by, lease_until, place */
    claim: `
      UPDATE ${table}
      SET status = '${Running}', claim_token = ?, claimed_by = ?, lease_until = ?
      WHERE rowid = ? AND status = '${Pending}'`,
    pendingTypes: `
      WITH RECURSIVE types (job_type) AS (
        SELECT min(job_type) FROM ${table} WHERE status = '${Pending}'
        UNION ALL
        SELECT (SELECT min(job_type) FROM ${table} WHERE status = '${Pending}' AND job_type > types.job_type)
        FROM types
        WHERE types.job_type IS NOT NULL
      )
      SELECT job_type FROM types WHERE job_type IS NOT NULL`,
  };
}

function upkeepTexts(table: string) {
  return {
    /** lease_until, id, claim_token */
    extend: `UPDATE ${table} SET lease_until = ? WHERE id = ? AND claim_token = ? AND status = '${Running}'`,
    /** owner */
    foreignClaims: `
      SELECT claimed_by, min(lease_until) AS ends, count(*) - count(lease_until) AS without_lease FROM ${table}
      WHERE status = '${Running}' AND claimed_by IS NOT ?
      GROUP BY claimed_by`,
    /** owner, now, dead owners as JSON, limit */
    expired: `
      SELECT id, job_type, interruptions, claimed_by, next_run_at FROM ${table}
      WHERE status = '${Running}' AND claimed_by IS NOT ?
        AND (lease_until IS NULL OR lease_until <= ? OR claimed_by IN (SELECT value FROM json_each(?)))
      ORDER BY lease_until, id
      LIMIT ?`,
    /** status, interruptions, next_run_at, last_error or null, finished_at or null, id */
    recover: `
      UPDATE ${table}
      SET status = ?,
        interruptions = ?,
        next_run_at = ?,
        last_error = COALESCE(?, last_error),
        finished_at = ?,
        claim_token = NULL,
        claimed_by = NULL,
        lease_until = NULL
      WHERE id = ?`,
    /** finished_at, limit */
    prune: `
      DELETE FROM ${table}
      WHERE rowid IN (
        SELECT rowid FROM ${table} WHERE status = '${Failed}' AND finished_at <= ? ORDER BY finished_at LIMIT ?
      )`,
    /** claimed_by */
    owned: `SELECT id, claim_token FROM ${table} WHERE status = '${Running}' AND claimed_by = ?`,
    /** id */
    disown: `
      UPDATE ${table}
      SET status = '${Pending}', claim_token = NULL, claimed_by = NULL, lease_until = NULL
      WHERE id = ?`,
  };
}
