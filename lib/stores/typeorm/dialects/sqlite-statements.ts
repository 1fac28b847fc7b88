import { longestHistory } from '../../../model/attempt-history.js';
import { longestLog } from '../../../model/log-lines.js';
import { JobState } from '../../../model/job-state.js';
import type { ExtraColumn } from '../extra-columns.js';
import { holdsKey } from '../migrations/0001-create-jobs.js';
import { admissionTexts } from './sqlite-admission-texts.js';
import { claimTexts } from './sqlite-claim-texts.js';
import { keysTexts } from './sqlite-keys-texts.js';
import { limitsTexts } from './sqlite-limits-texts.js';
import type { SqlNames } from '../table-name.js';
import type { SqliteHandle, SqliteStatement, SqliteValuesStatement } from './sqlite-handle.js';

const { Pending, Running, Cancelled } = JobState;

/** The history with one more line, cut at its beginning; as it is where the line is null. */
const appended = `COALESCE(substr(COALESCE(history, '') || ?, -${longestHistory}), history)`;

/** The log with more lines, cut at its beginning; as it is where these are null. */
const logged = `COALESCE(substr(COALESCE(log, '') || ?, -${longestLog}), log)`;

/**
 * The statements of one connection, each prepared when it is first needed: once for every connection. Values are bound in the order of
 * their marks; moments are epoch milliseconds of this process's clock.
 */
export class SqliteStatements {
  private readonly texts: Readonly<Record<StatementName, string>>;
  private readonly prepared = new Map<string, SqliteStatement>();
  private readonly preparedForValues = new Map<string, SqliteValuesStatement>();

  constructor(
    private readonly handle: SqliteHandle,
    private readonly names: SqliteNames,
  ) {
    this.texts = textsOf(names);
  }

  /** Binds id, job_type, payload, max_retries, next_run_at, created_at, and the extra columns. Stores nothing where the key is taken. */
  insert(extras: readonly ExtraColumn[]): SqliteStatement {
    const named = extras.map(({ name }) => `, ${name}`).join('');
    const hasKey = extras.some(({ name }) => name === 'unique_key');
    return this.prepare(
      `insert${named}`,
      `INSERT INTO ${this.names.table} (id, job_type, payload, status, max_retries, next_run_at, created_at${named})
      VALUES (?, ?, ?, '${Pending}', ?, ?, ?${extras.map(() => ', ?').join('')})
      ${hasKey ? `ON CONFLICT (job_type, unique_key) WHERE ${holdsKey} DO NOTHING` : ''}`,
    );
  }

  /** @param copy Several cursors over one text need a statement each. */
  get(name: StatementName, copy = 0): SqliteStatement {
    return this.prepare(`${name} ${copy}`, this.texts[name]);
  }

  /** The same, answering with the values of a row alone, which costs half of what objects do. */
  values(name: StatementName, copy = 0): SqliteValuesStatement {
    const key = `values of ${name} ${copy}`;
    const known = this.preparedForValues.get(key) ?? this.handle.prepare(this.texts[name]).raw();
    this.preparedForValues.set(key, known);
    return known;
  }

  private prepare(key: string, text: string): SqliteStatement {
    const known = this.prepared.get(key);
    if (known !== undefined) return known;
    const statement = this.handle.prepare(text);
    this.prepared.set(key, statement);
    return statement;
  }
}

export type SqliteNames = Pick<SqlNames, 'table' | 'slots' | 'limits'>;

type StatementName = keyof ReturnType<typeof textsOf>;

function textsOf({ table, slots, limits }: SqliteNames) {
  return {
    ...workingTexts(table),
    ...claimTexts(table),
    ...steppingTexts(table),
    ...admissionTexts(table, slots),
    ...runningTexts(table),
    ...limitsTexts(table, limits),
    ...keysTexts(table),
    ...upkeepTexts(table),
    ...pruneTexts(table),
  };
}

function workingTexts(table: string) {
  return {
    /** id, claim_token */
    deleteCompleted: `DELETE FROM ${table} WHERE id = ? AND claim_token = ?`,
    /** status, added attempts, next_run_at or null, last_error or null, finished_at or null, keep_until or null, result or null, line or null, progress or null, log or null, status again, id, claim_token */
    settle: `
      UPDATE ${table}
      SET status = ?,
        attempts = attempts + ?,
        next_run_at = COALESCE(?, next_run_at),
        last_error = COALESCE(?, last_error),
        finished_at = ?,
        keep_until = ?,
        result = ?,
        history = ${appended},
        progress = COALESCE(?, progress),
        log = ${logged},
        claim_token = NULL,
        claimed_by = NULL,
        lease_until = CASE WHEN ? = '${Running}' THEN lease_until END
      WHERE id = ? AND claim_token = ?`,
  };
}

/** Looks that step through the index, one entry of each type or stream. */
function steppingTexts(table: string) {
  return {
    /** job_type */
    firstStream: `
      SELECT job_type, queue, priority FROM ${table}
      WHERE status = '${Pending}' AND job_type = ?
      ORDER BY queue, priority
      LIMIT 1`,
    /** job_type, queue, priority, job_type, queue. Asked for both at once, this planner would read all of the stream that is behind it. */
    nextStream: `
      SELECT * FROM (
        SELECT job_type, queue, priority FROM ${table}
        WHERE status = '${Pending}' AND job_type = ? AND queue = ? AND priority > ?
        ORDER BY priority
        LIMIT 1
      )
      UNION ALL
      SELECT * FROM (
        SELECT job_type, queue, priority FROM ${table}
        WHERE status = '${Pending}' AND job_type = ? AND queue > ?
        ORDER BY queue, priority
        LIMIT 1
      )
      LIMIT 1`,
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

/** What is written about a job while it runs. */
function runningTexts(table: string) {
  return {
    /** progress or null, log or null, id, claim_token */
    note: `
      UPDATE ${table} SET progress = COALESCE(?, progress), log = ${logged}
      WHERE id = ? AND claim_token = ? AND status = '${Running}'`,
    /** id, claim_token */
    recall: `SELECT remembered FROM ${table} WHERE id = ? AND claim_token = ? AND status = '${Running}'`,
    /** line, id, claim_token */
    remember: `
      UPDATE ${table} SET remembered = COALESCE(remembered, '') || ?
      WHERE id = ? AND claim_token = ? AND status = '${Running}'`,
  };
}

function upkeepTexts(table: string) {
  return {
    /** lease_until, id, claim_token */
    extend: `UPDATE ${table} SET lease_until = ? WHERE id = ? AND claim_token = ? AND status = '${Running}'`,
    /** ids as JSON */
    cancelled: `SELECT id FROM ${table} WHERE id IN (SELECT value FROM json_each(?)) AND status = '${Cancelled}'`,
    /** owner */
    foreignClaims: `
      SELECT claimed_by, min(lease_until) AS ends, count(*) - count(lease_until) AS without_lease FROM ${table}
      WHERE status = '${Running}' AND claimed_by IS NOT ?
      GROUP BY claimed_by`,
    /** owner, now, dead owners as JSON, limit */
    expired: `
      SELECT id, job_type, attempts, interruptions, claimed_by, next_run_at FROM ${table}
      WHERE status = '${Running}' AND claimed_by IS NOT ?
        AND (lease_until IS NULL OR lease_until <= ? OR claimed_by IN (SELECT value FROM json_each(?)))
      ORDER BY lease_until, id
      LIMIT ?`,
    /** status, interruptions, next_run_at, last_error or null, finished_at or null, line or null, id */
    recover: `
      UPDATE ${table}
      SET status = ?,
        interruptions = ?,
        next_run_at = ?,
        last_error = COALESCE(?, last_error),
        finished_at = ?,
        keep_until = NULL,
        history = ${appended},
        claim_token = NULL,
        claimed_by = NULL,
        lease_until = NULL
      WHERE id = ?`,
    /** claimed_by */
    owned: `SELECT id, claim_token FROM ${table} WHERE status = '${Running}' AND claimed_by = ?`,
    /** id */
    disown: `
      UPDATE ${table}
      SET status = '${Pending}', claim_token = NULL, claimed_by = NULL, lease_until = NULL
      WHERE id = ?`,
  };
}

/** Both orders are that of the index, so that no more rows are read than go. */
function pruneTexts(table: string) {
  return {
    /** status, now, limit */
    pruneKept: `
      DELETE FROM ${table}
      WHERE rowid IN (
        SELECT rowid FROM ${table}
        WHERE finished_at IS NOT NULL AND status = ? AND keep_until <= ?
        ORDER BY keep_until, finished_at
        LIMIT ?
      )`,
    /** status, finished_at, limit */
    pruneEnded: `
      DELETE FROM ${table}
      WHERE rowid IN (
        SELECT rowid FROM ${table}
        WHERE finished_at IS NOT NULL AND status = ? AND keep_until IS NULL AND finished_at <= ?
        ORDER BY finished_at
        LIMIT ?
      )`,
  };
}
