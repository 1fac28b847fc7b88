import { JobState } from '../../../model/job-state.js';
import { orderOf, type JobEdit, type JobGroup, type PageRequest, type PayloadWish } from '../../job-queries.js';
import { bounded, heldMs } from '../job-row.js';
import type { Stream } from '../streams.js';
import type { AdminWords } from './admin-words.js';
import type { SqlText, TextMaker } from './sql-text.js';

const momentColumns = { runAt: 'next_run_at', finishedAt: 'finished_at' } as const;
/** Processes times their types: a fleet has far fewer. */
const mostClaims = 10_000;

const columns = [
  'id',
  'job_type',
  'status',
  'attempts',
  'max_retries',
  'interruptions',
  'next_run_at',
  'created_at',
  'finished_at',
  'last_error',
  'claimed_by',
  'lease_until',
  'queue',
  'priority',
  'unique_key',
  'job_key',
  'tags',
  'expires_at',
  'timeout',
  'progress',
  'batch_id',
];

function columnsWith(payload: PayloadWish): string {
  return (payload === 'with payload' ? [...columns, 'payload', 'result'] : columns).join(', ');
}

export function findStatement(id: string, payload: PayloadWish): TextMaker {
  return (sql) => `SELECT ${columnsWith(payload)}, history, log FROM ${sql.table} WHERE id = ${sql.bind(id, 'uuid')}`;
}

/** @param words Its condition for a state is the one of an index that has the rows in this order. */
export function listStatement(words: AdminWords, request: PageRequest): TextMaker<Stream | string | undefined> {
  const { filter, limit, payload } = request;
  const { moment, direction } = orderOf(filter.state);
  const way = direction === 'ascending' ? 'ASC' : 'DESC';
  const sorts = [...(moment === undefined ? [] : [momentColumns[moment]]), idOf(words, filter.state)];
  return (sql, among) => {
    const conditions = [...amongConditions(sql, among), ...filterConditions(sql, words, request)];
    return `
      SELECT ${columnsWith(payload)} FROM ${sql.table}
      ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
      ORDER BY ${sorts.map((column) => `${column} ${way}`).join(', ')}
      LIMIT ${Math.floor(limit)}`;
  };
}

/** Of one stream or one type; in the order in which the columns lie in an index. */
function* amongConditions(sql: SqlText, among: Stream | string | undefined): Iterable<string> {
  if (among === undefined) return;
  if (typeof among === 'string') yield `job_type = ${sql.bind(among, 'text')}`;
  else yield isOfStream(sql, among);
}

function isOfStream(sql: SqlText, { type, queue, priority }: Stream): string {
  return `job_type = ${sql.bind(type, 'text')} AND queue = ${sql.bind(queue, 'text')} AND priority = ${sql.bind(priority, 'integer')}`;
}

function* filterConditions(sql: SqlText, words: AdminWords, request: PageRequest): Iterable<string> {
  const { state, batch, createdFrom, createdBefore, finishedFrom, finishedBefore, error } = request.filter;
  if (state !== undefined) yield words.whereState(state);
  yield* groupConditions(sql, words, request.filter);
  if (batch !== undefined) yield words.inBatch(sql, batch, state);
  if (createdFrom !== undefined) yield `created_at >= ${sql.bind(createdFrom, 'bigint')}`;
  if (createdBefore !== undefined) yield `created_at < ${sql.bind(createdBefore, 'bigint')}`;
  if (finishedFrom !== undefined) yield `finished_at >= ${sql.bind(finishedFrom, 'bigint')}`;
  if (finishedBefore !== undefined) yield `finished_at < ${sql.bind(finishedBefore, 'bigint')}`;
  if (error !== undefined) yield words.contains('last_error', sql.bind(error, 'text'));
  yield* placeConditions(sql, words, request);
}

function* groupConditions(sql: SqlText, words: AdminWords, { queue, tag }: JobGroup): Iterable<string> {
  if (queue !== undefined) yield `queue = ${sql.bind(queue, 'text')}`;
  // As it stands among the others: in JSON nothing but its own ends can be a bare quotation mark.
  if (tag !== undefined) yield words.contains('tags', sql.bind(JSON.stringify(tag), 'text'));
}

/** Written out, since not every database finds the start of a comparison of pairs in its index. */
function* placeConditions(sql: SqlText, words: AdminWords, { filter, after }: PageRequest): Iterable<string> {
  if (after === undefined) return;
  const { moment, direction } = orderOf(filter.state);
  const beyond = direction === 'ascending' ? '>' : '<';
  if (moment === undefined || after.moment === undefined) {
    yield `${idOf(words, filter.state)} ${beyond} ${sql.bind(after.id, 'uuid')}`;
    return;
  }
  const column = momentColumns[moment];
  yield `${column} ${beyond}= ${sql.bind(after.moment, 'bigint')}`;
  yield `(${column} ${beyond} ${sql.bind(after.moment, 'bigint')} OR id ${beyond} ${sql.bind(after.id, 'uuid')})`;
}

/** Running rows are few, and in no index by their ids. */
function idOf(words: AdminWords, state: JobState | undefined): string {
  return state === JobState.Running ? words.sortedLater('id') : 'id';
}

export interface Counted {
  readonly most: number;
  readonly group: JobGroup;
}

/** Counts one more than `most` at the most, whichever they are. */
export function countStatement(words: AdminWords, state: JobState, { most, group }: Counted): TextMaker<string> {
  const conditions = (sql: SqlText, type: string): string =>
    [words.whereState(state), `job_type = ${sql.bind(type, 'text')}`, ...groupConditions(sql, words, group)].join(
      ' AND ',
    );
  return (sql, type) => `
    SELECT ${sql.bind(type, 'text')} AS job_type, count(*) AS jobs FROM (
      SELECT 1 AS one FROM ${sql.table}
      WHERE ${conditions(sql, type)}
      ORDER BY ${words.indexOrder(state, group.queue)}
      LIMIT ${Math.floor(most) + 1}
    ) AS few`;
}

/** Those that run are few: at the most what all processes hold. */
export function countRunningStatement(words: AdminWords, group: JobGroup): TextMaker {
  return (sql) => `
    SELECT job_type, count(*) AS jobs FROM ${sql.table}
    WHERE ${[words.whereState(JobState.Running), ...groupConditions(sql, words, group)].join(' AND ')}
    GROUP BY job_type
    ORDER BY job_type`;
}

export function oldestDueStatement(words: AdminWords): TextMaker<Stream> {
  return (sql, stream) => `
    SELECT id, job_type, next_run_at, ${sql.now()} - next_run_at AS waiting FROM ${sql.table}
    WHERE ${words.whereState(JobState.Pending)} AND ${isOfStream(sql, stream)} AND next_run_at <= ${sql.now()}
    ORDER BY next_run_at, id
    LIMIT 1`;
}

export function claimsStatement(words: AdminWords): TextMaker {
  return (sql) => `
    SELECT claimed_by, job_type, count(*) AS jobs, max(lease_until) - ${sql.now()} AS ends FROM ${sql.table}
    WHERE ${words.whereState(JobState.Running)} AND claimed_by IS NOT NULL
    GROUP BY claimed_by, job_type
    ORDER BY claimed_by, job_type
    LIMIT ${mostClaims}`;
}

/** A token that is taken away settles nothing any more, and is renewed by no heartbeat. */
export function setCancelled(keepMs: ReadonlyMap<string, number>): TextMaker {
  return (sql) =>
    `status = ${sql.bind(JobState.Cancelled, 'text')}, finished_at = ${sql.now()}, keep_until = ${keptUntil(sql, keepMs)}, ` +
    'claim_token = NULL, claimed_by = NULL, lease_until = NULL';
}

function keptUntil(sql: SqlText, keepMs: ReadonlyMap<string, number>): string {
  if (keepMs.size === 0) return 'NULL';
  const cases = [...keepMs].map(
    ([type, ms]) => `WHEN ${sql.bind(type, 'text')} THEN ${sql.now()} + ${sql.bind(bounded(ms), 'bigint')}`,
  );
  return `CASE job_type ${cases.join(' ')} END`;
}

/** `last_error` and the history stay. It counts for its batch again if that has not ended. */
export function setRetried(delayMs: number): TextMaker {
  return (sql) =>
    `status = ${sql.bind(JobState.Pending, 'text')}, attempts = 0, interruptions = 0, ` +
    `next_run_at = ${sql.now()} + ${sql.bind(delayMs, 'bigint')}, ` +
    'finished_at = NULL, keep_until = NULL, result = NULL, progress = NULL, claim_token = NULL, claimed_by = NULL, lease_until = NULL, ' +
    `batch_id = CASE WHEN EXISTS (SELECT 1 FROM ${sql.batches} AS b WHERE b.id = batch_id AND b.finished_at IS NULL) ` +
    'THEN batch_id END';
}

/** A member that has completed is kept until its batch has ended, which counts it. */
export const heldByBatch = `status = '${JobState.Completed}' AND keep_until >= ${heldMs}`;

export function setEdited({ delayMs, runAt, payload, maxRetries }: JobEdit): TextMaker {
  return (sql) => {
    const parts: string[] = [];
    if (runAt !== undefined) parts.push(`next_run_at = ${sql.bind(runAt, 'bigint')}`);
    if (delayMs !== undefined) parts.push(`next_run_at = ${sql.now()} + ${sql.bind(delayMs, 'bigint')}`);
    if (payload !== undefined) parts.push(`payload = ${sql.bind(payload, 'text')}`);
    if (maxRetries !== undefined) parts.push(`max_retries = ${sql.bind(maxRetries, 'integer')}`);
    return parts.join(', ');
  };
}
