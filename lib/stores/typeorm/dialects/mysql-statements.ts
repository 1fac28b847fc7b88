import type { Lease, NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import { claimedColumns, isAnyCarrying, toNewRow, type NewRow, type SettledRow } from '../job-row.js';
import { execute, type MysqlConnection, type MysqlResult, type MysqlValue } from './mysql-pool.js';

/** A text with its values, for the binary protocol. */
export interface MysqlStatement {
  readonly text: string;
  readonly values: readonly MysqlValue[];
}

const { Pending, Running, Failed } = JobState;

/** How many rows a statement names at the most. */
const mostNamed = 2_048;

/** @param answerMs Milliseconds without an answer after which the connection is given up. Default 30 000. */
export function run(
  connection: MysqlConnection,
  { text, values }: MysqlStatement,
  answerMs?: number,
): Promise<MysqlResult> {
  return execute(connection, text, values, answerMs);
}

export function slicesOf<T>(values: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(values.length / mostNamed);
  return Array.from({ length: count }, (_, index) => values.slice(index * mostNamed, (index + 1) * mostNamed));
}

/** Epoch milliseconds of the server's clock, the same throughout a statement; in UTC, so that no hour comes twice. */
export const mysqlNowMs = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)";

/**
 * How text reaches a utf8mb4 column. Over a connection of ours it is bound as it is. The app's connection may have any character
 * set, so there it goes as bytes.
 */
export type TextBinding = 'text' | 'bytes';

export function insertStatement(table: string, jobs: readonly NewJob[], binding: TextBinding): MysqlStatement {
  const text = binding === 'text' ? '?' : 'CONVERT(? USING utf8mb4)';
  const [column, mark] = isAnyCarrying(jobs) ? [', context', `, ${text}`] : ['', ''];
  const row = `(?, ${text}, ${text}, '${Pending}', ?, COALESCE(?, ${mysqlNowMs} + ?), ${mysqlNowMs}${mark})`;
  const bound = (value: string): string | Buffer => (binding === 'text' ? value : Buffer.from(value));
  const context = (value: string | null): MysqlValue[] => (mark === '' ? [] : [value === null ? null : bound(value)]);
  const valuesOf = (job: NewRow): MysqlValue[] => [
    job.id,
    bound(job.type),
    bound(job.payload),
    job.maxRetries,
    job.runAt,
    job.delayMs,
    ...context(job.context),
  ];
  return {
    text: `INSERT INTO ${table} (id, job_type, payload, status, max_retries, next_run_at, created_at${column})
      VALUES ${jobs.map(() => row).join(', ')}`,
    values: jobs.map(toNewRow).flatMap(valuesOf),
  };
}

/** Which jobs to try for, and how many. */
export interface Candidature {
  readonly types: readonly string[];
  readonly limit: number;
  readonly mostInterruptions?: number | undefined;
}

/**
 * The jobs that are due, without a lock and without their payloads: the ids to try for. Each type is looked up on its own in the
 * index, so that jobs of other types cost nothing however many lie in front.
 */
export function candidatesStatement(table: string, { types, limit, mostInterruptions }: Candidature): MysqlStatement {
  const most = powerOfTwo(limit);
  const spared = mostInterruptions === undefined ? '' : ' AND interruptions <= ?';
  const ofType = `(SELECT id, next_run_at FROM ${table}
    WHERE status = '${Pending}' AND job_type = ? AND next_run_at <= ${mysqlNowMs}${spared}
    ORDER BY next_run_at, id LIMIT ${most})`;
  return {
    text: `${types.map(() => ofType).join(' UNION ALL ')} ORDER BY next_run_at, id LIMIT ${most}`,
    values: types.flatMap((type) => (mostInterruptions === undefined ? [type] : [type, mostInterruptions])),
  };
}

/** Reads up to `limit` of these ids that are still pending and nobody's, and keeps others away from them until the transaction ends. */
export function lockPendingStatement(table: string, ids: readonly string[], limit: number): MysqlStatement {
  const list = inList(ids);
  return {
    text: `SELECT ${claimedColumns.join(', ')}, next_run_at FROM ${table}
      WHERE id IN (${list.marks}) AND status = '${Pending}'
      ORDER BY id
      LIMIT ?
      FOR UPDATE SKIP LOCKED`,
    // As text: MySQL refuses a number here, which the driver sends as a fraction.
    values: [...list.values, String(limit)],
  };
}

export interface ClaimMarks {
  readonly nonce: string;
  readonly owner: string;
  readonly leaseMs: number;
}

/** The token of each job is the nonce of this claim and its own id: no two jobs and no two claims share one. */
export function claimStatement(table: string, ids: readonly string[], marks: ClaimMarks): MysqlStatement {
  const list = inList(ids);
  return {
    text: `UPDATE ${table}
      SET status = '${Running}', claim_token = CONCAT(?, id), claimed_by = ?, lease_until = ${mysqlNowMs} + ?
      WHERE id IN (${list.marks})`,
    values: [marks.nonce, marks.owner, marks.leaseMs, ...list.values],
  };
}

export function deleteCompletedStatement(table: string, leases: readonly Lease[]): MysqlStatement {
  const held = heldBy(leases);
  return { text: `DELETE FROM ${table} WHERE ${held.text}`, values: held.values };
}

/** What of these is held still, locked until the transaction ends. */
export function lockHeldStatement(table: string, leases: readonly Lease[]): MysqlStatement {
  const held = heldBy(leases);
  return { text: `SELECT claim_token FROM ${table} WHERE ${held.text} ORDER BY id FOR UPDATE`, values: held.values };
}

export function extendStatement(table: string, leases: readonly Lease[], leaseMs: number): MysqlStatement {
  const held = heldBy(leases);
  return {
    text: `UPDATE ${table} SET lease_until = ${mysqlNowMs} + ? WHERE ${held.text} AND status = '${Running}'`,
    values: [leaseMs, ...held.values],
  };
}

/** One row of JSON for each outcome, so that one text does for any number of them. */
export function settleStatement(table: string, rows: readonly SettledRow[]): MysqlStatement {
  const outcomes = rows.map((row) => [row.id, row.token, row.status, row.cost, row.delayMs, row.error]);
  return {
    text: `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
        id CHAR(36) CHARACTER SET ascii PATH '$[0]' ERROR ON ERROR,
        token VARCHAR(80) CHARACTER SET ascii PATH '$[1]' ERROR ON ERROR,
        status VARCHAR(16) CHARACTER SET ascii PATH '$[2]' ERROR ON ERROR,
        cost INT PATH '$[3]' ERROR ON ERROR,
        delay_ms BIGINT PATH '$[4]' ERROR ON ERROR,
        error LONGTEXT CHARACTER SET utf8mb4 PATH '$[5]' ERROR ON ERROR
      )) AS o
      STRAIGHT_JOIN ${table} AS j ON j.id = o.id AND j.claim_token = o.token
      SET j.status = o.status,
        j.attempts = j.attempts + o.cost,
        j.next_run_at = COALESCE(${mysqlNowMs} + o.delay_ms, j.next_run_at),
        j.last_error = COALESCE(o.error, j.last_error),
        j.finished_at = CASE WHEN o.status = '${Failed}' THEN ${mysqlNowMs} END,
        j.lease_until = CASE WHEN o.status = '${Running}' THEN j.lease_until END,
        j.claimed_by = NULL,
        j.claim_token = NULL`,
    values: [JSON.stringify(outcomes)],
  };
}

function heldBy(leases: readonly Lease[]): MysqlStatement {
  const ids = inList(leases.map(({ id }) => id));
  const tokens = inList(leases.map(({ token }) => token));
  return {
    text: `id IN (${ids.marks}) AND claim_token IN (${tokens.marks})`,
    values: [...ids.values, ...tokens.values],
  };
}

interface InList {
  readonly marks: string;
  readonly values: readonly string[];
}

/** Filled up to a power of two with its last value, so that a server prepares a dozen texts and not a thousand. */
export function inList(values: readonly string[]): InList {
  const [last = ''] = values.slice(-1);
  const length = powerOfTwo(values.length);
  const filled = [...values, ...Array.from({ length: length - values.length }, () => last)];
  return { marks: filled.map(() => '?').join(', '), values: filled };
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, atLeast)));
}
