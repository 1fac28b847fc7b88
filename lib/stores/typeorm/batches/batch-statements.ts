import { JobState } from '../../../model/job-state.js';
import { totalOf, type BatchProgress } from '../../../model/batch-progress.js';
import type { SqlText, TextMaker } from '../admin/sql-text.js';
import { heldMs } from '../job-row.js';
import type { BatchTexts } from './batch-row.js';
import type { BatchWords } from './batch-sql.js';

const { Pending, Running, Completed } = JobState;

/** `closed` are those about which nothing is left to do. */
const batchState = { open: 'open', closed: 'closed' } as const;

type Members = BatchWords['members'];
type HasMember = BatchWords['hasMember'];

export interface BatchInsert {
  readonly progress: BatchProgress;
  readonly texts: BatchTexts;
  /** Whether it has ended as it was stored, having no jobs. */
  readonly isOver: boolean;
}

/** The steps that are still to come are counted from here on. */
export function insertBatchStatement({ progress, texts, isOver }: BatchInsert): TextMaker {
  return (sql) => `
    INSERT INTO ${sql.batches}
      (id, state, steps, step, stored, total, completed, on_complete, on_failure, created_at, finished_at)
    VALUES (${sql.bind(progress.id, 'uuid')}, '${batchState.open}', ${sql.bind(isOver ? null : texts.steps, 'text')}, 0,
      ${sql.bind(progress.stored, 'bigint')}, ${sql.bind(totalOf(progress), 'bigint')}, ${isOver ? '0' : 'NULL'},
      ${sql.bind(isOver ? null : texts.onComplete, 'text')}, ${sql.bind(isOver ? null : texts.onFailure, 'text')},
      ${sql.now()}, ${isOver ? sql.now() : 'NULL'})`;
}

/** A batch that has not ended, for whoever takes it further. */
export function lockBatchStatement(id: string, { byId, forUpdate }: BatchWords): TextMaker {
  return (sql) => `
    SELECT id, steps, step, stored, on_complete, on_failure FROM ${byId(sql.batches)}
    WHERE id = ${sql.bind(id, 'uuid')} AND finished_at IS NULL ${forUpdate}`;
}

export function enterStatement(progress: BatchProgress, { byId }: BatchWords): TextMaker {
  return (sql) => `
    UPDATE ${byId(sql.batches)}
    SET step = ${sql.bind(progress.step, 'bigint')}, stored = ${sql.bind(progress.stored, 'bigint')},
      total = ${sql.bind(totalOf(progress), 'bigint')}
    WHERE id = ${sql.bind(progress.id, 'uuid')}`;
}

/** What was to follow is not needed any more. */
export function endStatement(progress: BatchProgress, completed: number, { byId }: BatchWords): TextMaker {
  return (sql) => `
    UPDATE ${byId(sql.batches)}
    SET stored = ${sql.bind(progress.stored, 'bigint')}, total = ${sql.bind(totalOf(progress), 'bigint')},
      completed = ${sql.bind(completed, 'bigint')}, finished_at = ${sql.now()},
      steps = NULL, on_complete = NULL, on_failure = NULL
    WHERE id = ${sql.bind(progress.id, 'uuid')}`;
}

/** Answers with a row where a job of the batch waits or runs: two looks in an index, whatever its size. */
export function activeStatement({ hasMember }: BatchWords, id: string): TextMaker {
  return (sql) =>
    `SELECT 1 AS is_active FROM ${sql.batches} AS b WHERE b.id = ${sql.bind(id, 'uuid')} AND ${isActive(sql, hasMember)}`;
}

export function countCompletedStatement(members: Members, id: string): TextMaker {
  return (sql) => `SELECT count(*) AS jobs FROM ${sql.table} AS j WHERE ${members(sql, id, Completed)}`;
}

export function idleStatement({ hasMember }: BatchWords, ids: readonly string[]): TextMaker {
  return (sql) => `
    SELECT b.id FROM ${sql.batches} AS b
    WHERE b.id IN (${padded(ids)
      .map((id) => sql.bind(id, 'uuid'))
      .join(', ')}) AND NOT ${isActive(sql, hasMember)}`;
}

/** The page is cut first, so that it is the number of batches that bounds the looks. */
export function pageStatement({ hasMember }: BatchWords, after: string | undefined, limit: number): TextMaker {
  return (sql) => `
    SELECT b.id, CASE WHEN ${isActive(sql, hasMember)} THEN 0 ELSE 1 END AS is_idle
    FROM (
      SELECT id FROM ${sql.batches}
      WHERE state = '${batchState.open}'${after === undefined ? '' : ` AND id > ${sql.bind(after, 'uuid')}`}
      ORDER BY id
      LIMIT ${Math.floor(limit)}
    ) AS b
    ORDER BY b.id`;
}

export function completedStatement(
  members: Members,
  { id, after, limit }: { readonly id: string; readonly after: string | undefined; readonly limit: number },
): TextMaker {
  return (sql) => `
    SELECT j.id, j.keep_until, j.finished_at FROM ${sql.table} AS j
    WHERE ${members(sql, id, Completed)}${after === undefined ? '' : ` AND j.id > ${sql.bind(after, 'uuid')}`}
    ORDER BY j.id
    LIMIT ${Math.floor(limit)}`;
}

/** From now on it is kept as any other job. Said twice it changes nothing. */
export const setReleased: TextMaker = () =>
  `keep_until = CASE WHEN keep_until >= ${heldMs} THEN keep_until - ${heldMs} ELSE keep_until END`;

export function closeStatement({ hasMember }: BatchWords, id: string): TextMaker {
  return (sql) => `
    UPDATE ${sql.batches}
    SET state = '${batchState.closed}'
    WHERE id = ${sql.bind(id, 'uuid')} AND finished_at IS NOT NULL
      AND NOT ${hasMember(sql, id, Pending)} AND NOT ${hasMember(sql, id, Running)}`;
}

export function findBatchStatement(members: Members, id: string): TextMaker {
  const count = (sql: SqlText, state: JobState): string =>
    `(SELECT count(*) FROM ${sql.table} AS j WHERE ${members(sql, id, state)})`;
  return (sql) => `
    SELECT b.id, b.total, b.stored, b.completed, b.created_at, b.finished_at, ${count(sql, Completed)} AS completed_now,
      ${count(sql, Pending)} + ${count(sql, Running)} AS active_now
    FROM ${sql.batches} AS b
    WHERE b.id = ${sql.bind(id, 'uuid')}`;
}

export function oldBatchesStatement(endedForMs: number, limit: number): TextMaker {
  return (sql) => `
    SELECT id FROM ${sql.batches}
    WHERE finished_at <= ${sql.now()} - ${Math.floor(endedForMs)} AND state = '${batchState.closed}'
    ORDER BY finished_at
    LIMIT ${Math.floor(limit)}`;
}

export function deleteBatchesStatement(ids: readonly string[]): TextMaker {
  return (sql) => `
    DELETE FROM ${sql.batches}
    WHERE id IN (${padded(ids)
      .map((id) => sql.bind(id, 'uuid'))
      .join(', ')}) AND state = '${batchState.closed}'`;
}

function isActive(sql: SqlText, hasMember: HasMember): string {
  return `(${hasMember(sql, undefined, Pending)} OR ${hasMember(sql, undefined, Running)})`;
}

/** Filled up to a power of two with the last one, so that a server prepares a dozen texts and not a thousand. */
function padded(ids: readonly string[]): readonly string[] {
  const [last = ''] = ids.slice(-1);
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, ids.length)));
  return [...ids, ...Array.from({ length: length - ids.length }, () => last)];
}
