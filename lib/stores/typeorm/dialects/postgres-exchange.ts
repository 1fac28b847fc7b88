import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest, ExchangeRequest } from '../../job-store.js';
import { claimedColumns, isGone, toSettledRow, type SettledRow } from '../job-row.js';
import { pgAppended, pgMoment, pgMomentPart, PgValues, type BoundLeases, type PgStatement } from './postgres-values.js';

const { Pending, Running } = JobState;

/** How many more rows than needed are looked at beside the double, for those that others are just claiming. */
const spare = 32;

/**
 * Settles and claims in one statement, the faster by all the trips and commits that it saves. Parts that have nothing to do are
 * left out. It answers with the claimed rows, oldest due first, and with a row without a `job_type` for each settlement that changed
 * nothing.
 */
export function exchangeStatement(table: string, { settle, claim }: ExchangeRequest): PgStatement {
  const values = new PgValues();
  const completed = settle.filter(isGone);
  const others = settle.filter((settlement) => !isGone(settlement)).map(toSettledRow);
  const parts = [pgMomentPart];
  const answers: string[] = [];
  if (claim !== undefined) {
    parts.push(...claimParts(table, claim, values));
    answers.push(`SELECT ${claimedColumns.join(', ')}, claim_token, next_run_at FROM claimed`);
  }
  if (completed.length > 0) {
    const leases = values.bindLeases(completed);
    parts.push(`completed AS (${deleteCompleted(table, leases)})`);
    answers.push(lostOf('completed', leases));
  }
  if (others.length > 0) {
    const leases = values.bindLeases(others);
    parts.push(`settled AS (${updateSettled(table, leases, bindOutcomes(values, others))})`);
    answers.push(lostOf('settled', leases));
  }
  const order = claim === undefined ? '' : 'ORDER BY next_run_at, id';
  return {
    text: `WITH RECURSIVE ${parts.join(',\n')}\n${answers.join('\nUNION ALL ')}\n${order}`,
    values: values.list,
  };
}

function bindOutcomes(values: PgValues, rows: readonly SettledRow[]): string {
  const statuses = rows.map(({ status }) => status);
  const costs = rows.map(({ cost }) => cost);
  const delays = rows.map(({ delayMs }) => delayMs);
  const keeps = rows.map(({ keepMs }) => keepMs);
  const finishes = rows.map(({ isFinished }) => (isFinished ? 1 : 0));
  return [
    values.bindPlain(statuses, 'text'),
    values.bindPlain(costs, 'integer'),
    values.bindPlain(delays, 'bigint'),
    values.bindTexts(rows.map(({ error }) => error)),
    values.bindPlain(finishes, 'integer'),
    values.bindPlain(keeps, 'bigint'),
    values.bindTexts(rows.map(({ result }) => result)),
    values.bindTexts(rows.map(({ line }) => line)),
  ].join(', ');
}

function deleteCompleted(table: string, { ids, tokens }: BoundLeases): string {
  return `DELETE FROM ${table} WHERE id = ANY(${ids}) AND claim_token = ANY(${tokens}) RETURNING claim_token AS token`;
}

function updateSettled(table: string, { ids, tokens }: BoundLeases, outcomes: string): string {
  return `
    UPDATE ${table} AS j
    SET status = o.status,
      attempts = j.attempts + o.cost,
      next_run_at = COALESCE(${pgMoment} + o.delay_ms, j.next_run_at),
      last_error = COALESCE(o.error, j.last_error),
      finished_at = CASE WHEN o.is_finished = 1 THEN ${pgMoment} END,
      keep_until = ${pgMoment} + o.keep_ms,
      result = o.result,
      history = ${pgAppended('j.history', 'o.line')},
      claim_token = NULL,
      claimed_by = NULL,
      lease_until = CASE WHEN o.status = '${Running}' THEN j.lease_until END
    FROM unnest(${ids}, ${tokens}, ${outcomes}) AS o(id, token, status, cost, delay_ms, error, is_finished, keep_ms, result, line)
    WHERE j.id = ANY(${ids}) AND j.id = o.id AND j.claim_token = o.token
    RETURNING o.token`;
}

/** Comparing the two numbers first spares the search for lost ones where there are none. */
function lostOf(part: string, { ids, tokens }: BoundLeases): string {
  const unread = claimedColumns.slice(1).map((column) => `NULL AS ${column}`);
  return `
    SELECT g.id, ${unread.join(', ')}, g.token AS claim_token, NULL AS next_run_at
    FROM unnest(${ids}, ${tokens}) AS g(id, token)
    WHERE (SELECT count(*) FROM ${part}) < cardinality(${ids})
      AND NOT EXISTS (SELECT FROM ${part} AS p WHERE p.token = g.token)`;
}

function claimParts(table: string, claim: ClaimRequest, values: PgValues): readonly string[] {
  const due = dueParts(table, claim, values);
  const claimed = `claimed AS (
    UPDATE ${table} AS j
    SET status = '${Running}',
      claim_token = gen_random_uuid(),
      claimed_by = ${values.bind(claim.owner, 'text')},
      lease_until = ${pgMoment} + ${values.bind(claim.leaseMs, 'bigint')}
    WHERE j.ctid = ANY(ARRAY(SELECT due.ctid FROM due))
    RETURNING ${claimedColumns.map((column) => `j.${column}`).join(', ')}, j.claim_token, j.next_run_at
  )`;
  return [...due, claimed];
}

/**
 * The rows to claim, locked; those that another worker is just claiming are passed over. Found by their places in the table, which
 * no planner turns into a walk through all of it.
 *
 * Each type is looked up on its own in the index, so that jobs of other types cost nothing however many lie in front. With
 * several types it is first seen which rows come first of all, and only those are locked.
 */
function dueParts(
  table: string,
  { types, limit, mostInterruptions }: ClaimRequest,
  values: PgValues,
): readonly string[] {
  const spared =
    mostInterruptions === undefined
      ? ''
      : `\n        AND j.interruptions <= ${values.bind(mostInterruptions, 'integer')}`;
  const dueOf = (type: string, most: string): string => `
      SELECT j.ctid, j.id, j.next_run_at
      FROM ${table} AS j
      WHERE j.status = '${Pending}' AND j.job_type = ${type} AND j.next_run_at <= ${pgMoment}${spared}
      ORDER BY j.next_run_at, j.id
      LIMIT ${most}`;
  const most = values.bind(limit, 'integer');
  if (types?.length === 1) {
    return [`due AS (${dueOf(values.bind(types[0], 'text'), most)} FOR UPDATE SKIP LOCKED)`];
  }
  const wanted = types === undefined ? 'types AS wanted' : `unnest(${values.bindTexts(types)}) AS wanted(job_type)`;
  const look = values.bind(limit * 2 + spare, 'integer');
  const candidates = `candidates AS MATERIALIZED (
    SELECT d.ctid FROM ${wanted} CROSS JOIN LATERAL (${dueOf('wanted.job_type', look)}) AS d
    ORDER BY d.next_run_at, d.id
    LIMIT ${look}
  )`;
  const free = `free AS MATERIALIZED (
    SELECT j.ctid
    FROM ${table} AS j
    WHERE j.ctid = ANY(ARRAY(SELECT c.ctid FROM candidates AS c)) AND j.status = '${Pending}'
    ORDER BY j.next_run_at, j.id
    LIMIT ${most}
    FOR UPDATE SKIP LOCKED
  )`;
  const crowd = crowdParts(`${wanted} CROSS JOIN LATERAL (${dueOf('wanted.job_type', '(SELECT n FROM missing)')}`, {
    look,
    most,
  });
  return [...(types === undefined ? [pendingTypesPart(table)] : []), candidates, free, ...crowd];
}

/**
 * Where others hold so many of the first rows that too few are free, although there are more, each type is walked through and
 * locked until there are enough: those who hold them must not hide what lies behind. Otherwise this costs nothing.
 */
function crowdParts(walk: string, { look, most }: { readonly look: string; readonly most: string }): readonly string[] {
  const missing = `missing AS MATERIALIZED (
    SELECT CASE
        WHEN (SELECT count(*) FROM free) < ${most} AND (SELECT count(*) FROM candidates) = ${look} THEN ${most}
        ELSE 0
      END AS n
  )`;
  const behind = `behind AS MATERIALIZED (
    SELECT d.ctid FROM ${walk} FOR UPDATE SKIP LOCKED) AS d
    ORDER BY d.next_run_at, d.id
    LIMIT (SELECT n FROM missing)
  )`;
  // What is free comes again from the walk.
  const due = `due AS (
    SELECT ctid FROM behind
    UNION ALL
    SELECT ctid FROM free WHERE (SELECT n FROM missing) = 0
  )`;
  return [missing, behind, due];
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
