import { lineStart, longestHistory } from '../../../model/attempt-history.js';
import type { Lease, NewJob } from '../../../model/job.js';
import { asciiJson } from '../../../model/remembered.js';
import { JobState } from '../../../model/job-state.js';
import { longestLog } from '../../../model/log-lines.js';
import type { JobNote } from '../../job-store.js';
import { extraColumnsOf, type ExtraColumn } from '../extra-columns.js';
import { claimedColumns, toNewRow, type SettledRow } from '../job-row.js';
import { execute, type MysqlConnection, type MysqlResult, type MysqlValue } from './mysql-pool.js';

/** A text with its values, for the binary protocol. */
export interface MysqlStatement {
  readonly text: string;
  readonly values: readonly MysqlValue[];
}

const { Pending, Running, Cancelled } = JobState;

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

/** The history with one more line, cut at its beginning; as it is where `line`, what comes behind the moment, is null. */
export function mysqlAppended(history: string, line: string): string {
  const longer = `CONCAT(COALESCE(${history}, ''), '${lineStart}', ${mysqlNowMs}, ${line})`;
  return `COALESCE(RIGHT(${longer}, ${longestHistory}), ${history})`;
}

/** The log with more lines, cut at its beginning; as it is where these are null. */
function mysqlLogged(log: string, lines: string): string {
  return `COALESCE(RIGHT(CONCAT(COALESCE(${log}, ''), ${lines}), ${longestLog}), ${log})`;
}

/**
 * How text reaches a utf8mb4 column. Over a connection of ours it is bound as it is. The app's connection may have any character
 * set, so there it goes as bytes.
 */
export type TextBinding = 'text' | 'bytes';

/** What becomes of a row whose key is taken: the statement fails, or leaves it out. */
export type InsertMode = 'INSERT' | 'INSERT IGNORE';

/** The columns that only some jobs need are there only where one of these does. */
export function insertStatement(
  table: string,
  jobs: readonly NewJob[],
  { binding, mode = 'INSERT' }: { readonly binding: TextBinding; readonly mode?: InsertMode },
): MysqlStatement {
  const rows = jobs.map(toNewRow);
  const { mark, bound } = textBinding(binding);
  const extras = extraColumnsOf(rows);
  const named = extras.map(({ name }) => `, ${name}`).join('');
  const marks = extras.map((extra) => `, ${markOf(extra, mark)}`).join('');
  const row = `(?, ${mark}, ${mark}, '${Pending}', ?, COALESCE(?, ${mysqlNowMs} + ?), ${mysqlNowMs}${marks})`;
  return {
    text: `${mode} INTO ${table} (id, job_type, payload, status, max_retries, next_run_at, created_at${named})
      VALUES ${rows.map(() => row).join(', ')}`,
    values: rows.flatMap((job) => [
      job.id,
      bound(job.type),
      bound(job.payload),
      job.maxRetries,
      job.runAt,
      job.delayMs,
      ...extras.flatMap(({ inputs, type }) =>
        inputs.map((input) => (type === 'text' ? bound(input(job)) : input(job))),
      ),
    ]),
  };
}

function markOf({ type, inputs, sql }: ExtraColumn, textMark: string): string {
  const marks = inputs.map(() => (type === 'text' ? textMark : '?'));
  return sql(marks, mysqlNowMs);
}

/** The mark for a text, and what is bound for it. */
export function textBinding(binding: TextBinding) {
  return {
    mark: binding === 'text' ? '?' : 'CONVERT(? USING utf8mb4)',
    bound: (value: string | number | null): MysqlValue =>
      binding === 'text' || typeof value !== 'string' ? value : Buffer.from(value),
  };
}

/**
 * Reads up to `limit` of these ids that are still pending and nobody's, and keeps others away from them until the transaction ends. Payloads of more
 * than `longest` bytes are left out, their lengths are told.
 */
export function lockPendingStatement(
  table: string,
  ids: readonly string[],
  { limit, longest }: { readonly limit: number; readonly longest?: number | undefined },
): MysqlStatement {
  const list = inList(ids);
  const columns = claimedColumns.map((column) =>
    column === 'payload' && longest !== undefined ? 'IF(LENGTH(payload) <= ?, payload, NULL) AS payload' : column,
  );
  return {
    text: `SELECT ${columns.join(', ')}, LENGTH(payload) AS size, priority, next_run_at, ${mysqlNowMs} AS now_ms
      FROM ${byId(table)}
      WHERE id IN (${list.marks}) AND status = '${Pending}'
      ORDER BY id
      LIMIT ?
      FOR UPDATE SKIP LOCKED`,
    // As text: MySQL refuses a number here, which the driver sends as a fraction.
    values: [...(longest === undefined ? [] : [longest]), ...list.values, String(limit)],
  };
}

/** What jobs carry that this transaction has locked. */
export function payloadsStatement(table: string, ids: readonly string[]): MysqlStatement {
  const list = inList(ids);
  return { text: `SELECT id, payload FROM ${byId(table)} WHERE id IN (${list.marks})`, values: list.values };
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
    text: `UPDATE ${byId(table)}
      SET status = '${Running}', claim_token = CONCAT(?, id), claimed_by = ?, lease_until = ${mysqlNowMs} + ?
      WHERE id IN (${list.marks})`,
    values: [marks.nonce, marks.owner, marks.leaseMs, ...list.values],
  };
}

export function deleteCompletedStatement(table: string, leases: readonly Lease[]): MysqlStatement {
  const held = heldBy(leases);
  return { text: `DELETE j FROM ${table} AS j FORCE INDEX (PRIMARY) WHERE ${held.text}`, values: held.values };
}

/** What of these is held still, locked until the transaction ends. */
export function lockHeldStatement(table: string, leases: readonly Lease[]): MysqlStatement {
  const held = heldBy(leases);
  return {
    text: `SELECT claim_token FROM ${byId(table)} WHERE ${held.text} ORDER BY id FOR UPDATE`,
    values: held.values,
  };
}

/** Reads the ids of those among these jobs that are cancelled. */
export function cancelledStatement(table: string, leases: readonly Lease[]): MysqlStatement {
  const ids = inList(leases.map(({ id }) => id));
  return { text: `SELECT id FROM ${table} WHERE id IN (${ids.marks}) AND status = '${Cancelled}'`, values: ids.values };
}

export function extendStatement(table: string, leases: readonly Lease[], leaseMs: number): MysqlStatement {
  const held = heldBy(leases);
  return {
    text: `UPDATE ${byId(table)} SET lease_until = ${mysqlNowMs} + ? WHERE ${held.text} AND status = '${Running}'`,
    values: [leaseMs, ...held.values],
  };
}

/** What a settlement binds for each row, and as what the server reads each part. */
const settledParts: readonly [column: string, value: (row: SettledRow) => string | number | null][] = [
  ['id CHAR(36) CHARACTER SET ascii', ({ id }) => id],
  ['token VARCHAR(80) CHARACTER SET ascii', ({ token }) => token],
  ['status VARCHAR(16) CHARACTER SET ascii', ({ status }) => status],
  ['cost INT', ({ cost }) => cost],
  ['delay_ms BIGINT', ({ delayMs }) => delayMs],
  ['error LONGTEXT CHARACTER SET utf8mb4', ({ error }) => error],
  ['is_finished INT', ({ isFinished }) => (isFinished ? 1 : 0)],
  ['keep_ms BIGINT', ({ keepMs }) => keepMs],
  ['result LONGTEXT CHARACTER SET utf8mb4', ({ result }) => result],
  ['line LONGTEXT CHARACTER SET utf8mb4', ({ line }) => line],
  ['progress LONGTEXT CHARACTER SET utf8mb4', ({ progress }) => progress],
  ['log LONGTEXT CHARACTER SET utf8mb4', ({ log }) => log],
];

/** One row of JSON for each outcome, so that one text does for any number of them. */
export function settleStatement(table: string, rows: readonly SettledRow[]): MysqlStatement {
  const columns = settledParts.map(([column], index) => `${column} PATH '$[${index}]' ERROR ON ERROR`);
  const outcomes = rows.map((row) => settledParts.map(([, value]) => value(row)));
  return {
    text: `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (${columns.join(', ')})) AS o
      STRAIGHT_JOIN ${table} AS j FORCE INDEX (PRIMARY) ON j.id = o.id AND j.claim_token = o.token
      SET j.status = o.status,
        j.attempts = j.attempts + o.cost,
        j.next_run_at = COALESCE(${mysqlNowMs} + o.delay_ms, j.next_run_at),
        j.last_error = COALESCE(o.error, j.last_error),
        j.finished_at = CASE WHEN o.is_finished = 1 THEN ${mysqlNowMs} END,
        j.keep_until = ${mysqlNowMs} + o.keep_ms,
        j.result = o.result,
        j.history = ${mysqlAppended('j.history', 'o.line')},
        j.progress = COALESCE(o.progress, j.progress),
        j.log = ${mysqlLogged('j.log', 'o.log')},
        j.lease_until = CASE WHEN o.status = '${Running}' THEN j.lease_until END,
        j.claimed_by = NULL,
        j.claim_token = NULL`,
    values: [asciiJson(outcomes)],
  };
}

const notedParts: readonly [column: string, value: (note: JobNote) => string | null][] = [
  ['id CHAR(36) CHARACTER SET ascii', ({ id }) => id],
  ['token VARCHAR(80) CHARACTER SET ascii', ({ token }) => token],
  ['progress LONGTEXT CHARACTER SET utf8mb4', ({ progress }) => progress ?? null],
  ['log LONGTEXT CHARACTER SET utf8mb4', ({ log }) => log ?? null],
];

export function noteStatement(table: string, notes: readonly JobNote[]): MysqlStatement {
  const columns = notedParts.map(([column], index) => `${column} PATH '$[${index}]' ERROR ON ERROR`);
  return {
    text: `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (${columns.join(', ')})) AS o
      STRAIGHT_JOIN ${table} AS j FORCE INDEX (PRIMARY) ON j.id = o.id AND j.claim_token = o.token
      SET j.progress = COALESCE(o.progress, j.progress), j.log = ${mysqlLogged('j.log', 'o.log')}
      WHERE j.status = '${Running}'`,
    values: [JSON.stringify(notes.map((note) => notedParts.map(([, value]) => value(note))))],
  };
}

/**
 * A table whose rows are found by their ids. Left to itself the server walks through a small table, and then a statement waits for
 * every row that another transaction has locked, be its process stopped in the middle of it.
 */
export function byId(table: string): string {
  return `${table} FORCE INDEX (PRIMARY)`;
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

export function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, atLeast)));
}
