import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest, QueueScope } from '../../job-store.js';
import type { ClaimTables } from '../admin/sql-text.js';
import { pausedQueue, pausedType, pausesType } from '../slot.js';
import type { PgStatement, PgValues } from './postgres-values.js';

const { Pending } = JobState;

/** One step in the index for each stream that has pending jobs, due or not. */
export function streamParts(
  { table, slots }: ClaimTables,
  { types, queues, caps }: ClaimRequest,
  values: PgValues,
): readonly string[] {
  // The planner takes an array for ten rows, and one recursion over another one for thousands, for which it would compile the plan first.
  const wanted = `unnest(${types === undefined ? 'ARRAY(SELECT t.job_type FROM types AS t)' : values.bindTexts(types)})`;
  const head = (above: string): string => `
      SELECT j.queue, j.priority
      FROM ${table} AS j
      WHERE j.status = '${Pending}' AND j.job_type = w.job_type${above}
      ORDER BY j.queue, j.priority
      LIMIT 1`;
  const all = `all_streams AS (
    SELECT w.job_type, h.queue, h.priority FROM ${wanted} AS w(job_type) CROSS JOIN LATERAL (${head('')}) AS h
    UNION ALL
    SELECT w.job_type, h.queue, h.priority
    FROM all_streams AS w CROSS JOIN LATERAL (${head(' AND (j.queue, j.priority) > (w.queue, w.priority)')}) AS h
  )`;
  const capped = caps === undefined ? undefined : bindCaps(caps, values);
  const streams = `streams AS MATERIALIZED (
    SELECT s.job_type, s.queue, s.priority${capped === undefined ? '' : ', c.most'}
    FROM all_streams AS s${capped === undefined ? '' : ` LEFT JOIN ${capped} ON c.job_type = s.job_type`}
    WHERE ${isRunning(slots)}${inScope(queues, values)}${capped === undefined ? '' : ' AND c.most IS DISTINCT FROM 0'}
  )`;
  return [...(types === undefined ? [pendingTypesPart(table)] : []), all, streams];
}

function bindCaps(caps: Readonly<Record<string, number>>, values: PgValues): string {
  const types = values.bindTexts(Object.keys(caps));
  return `unnest(${types}, ${values.bindPlain(Object.values(caps), 'integer')}) AS c(job_type, most)`;
}

/** Neither its type nor its queue is paused: one look at a key of a small table. */
export function isRunning(slots: string): string {
  return `NOT EXISTS (
      SELECT FROM ${slots} AS p
      WHERE p.job_type = '${pausesType}' AND p.slot IN ('${pausedType}' || s.job_type, '${pausedQueue}' || s.queue)
    )`;
}

function inScope(queues: QueueScope | undefined, values: PgValues): string {
  if (queues === undefined) return '';
  return 'only' in queues
    ? ` AND s.queue = ANY(${values.bindTexts(queues.only)})`
    : ` AND s.queue <> ALL(${values.bindTexts(queues.except)})`;
}

/** Answers with each type that has pending jobs: one step in the index for each, instead of one for each job. */
export function pendingTypesStatement(table: string): PgStatement {
  return { text: `WITH RECURSIVE ${pendingTypesPart(table)}\nSELECT job_type FROM types`, values: [] };
}

function pendingTypesPart(table: string): string {
  const next = (above: string): string =>
    `(SELECT job_type FROM ${table} WHERE status = '${Pending}'${above} ORDER BY job_type LIMIT 1)`;
  return `types AS (
    ${next('')}
    UNION ALL
    SELECT n.job_type FROM types CROSS JOIN LATERAL ${next(' AND job_type > types.job_type')} AS n
  )`;
}
