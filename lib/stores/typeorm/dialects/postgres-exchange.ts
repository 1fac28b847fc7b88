import { randomBytes } from 'node:crypto';
import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest, ExchangeRequest } from '../../job-store.js';
import type { ClaimTables } from '../admin/sql-text.js';
import { isGone, plainColumns, rareColumns, toSettledRow, type SettledRow } from '../job-row.js';
import { streamParts } from './postgres-streams.js';
import {
  pgAppended,
  pgLogged,
  pgMoment,
  pgMomentPart,
  PgValues,
  type BoundLeases,
  type PgStatement,
} from './postgres-values.js';

const { Pending, Running } = JobState;

/** What is rare comes as one text, or none: each column costs every job that is claimed. */
const rare = `
      CASE WHEN num_nonnulls(${rareColumns.map((column) => `j.${column}`).join(', ')}) > 0
        THEN json_build_object(${rareColumns.map((column) => `'${column}', j.${column}`).join(', ')}, 'now', ${pgMoment})::text
      END`;
const answered = [...plainColumns, 'claim_token', 'priority', 'next_run_at', 'rare'];

/** How many more rows than needed are looked at beside the double, for those that others are just claiming. */
const spare = 32;

/**
 * Settles and claims in one statement, the faster by all the trips and commits that it saves. Parts that have nothing to do are
 * left out. It answers with the claimed rows, oldest due first, and with a row without a `job_type` for each settlement that changed
 * nothing.
 */
export function exchangeStatement({ table, slots }: ClaimTables, { settle, claim }: ExchangeRequest): PgStatement {
  const values = new PgValues();
  const completed = settle.filter(isGone);
  const others = settle.filter((settlement) => !isGone(settlement)).map(toSettledRow);
  const parts = [pgMomentPart];
  const answers: string[] = [];
  if (claim !== undefined) {
    parts.push(...claimParts({ table, slots }, claim, values));
    answers.push(`SELECT ${answered.join(', ')} FROM claimed`);
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
  const order = claim === undefined ? '' : 'ORDER BY priority, next_run_at, id';
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
    values.bindTexts(rows.map(({ progress }) => progress)),
    values.bindTexts(rows.map(({ log }) => log)),
  ].join(', ');
}

function deleteCompleted(table: string, leases: BoundLeases): string {
  return `
    DELETE FROM ${table} AS j
    USING unnest(${leases.ids}, ${leases.tokens}) AS o(id, token)
    WHERE ${isHeld(leases)}
    RETURNING o.token`;
}

/** The list of ids by itself leads through the index, whatever the planner thinks of the join. */
function isHeld({ ids }: BoundLeases): string {
  return `j.id = ANY(${ids}) AND j.id = o.id AND j.claim_token = o.token`;
}

function updateSettled(table: string, leases: BoundLeases, outcomes: string): string {
  const { ids, tokens } = leases;
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
      progress = COALESCE(o.progress, j.progress),
      log = ${pgLogged('j.log', 'o.log')},
      claim_token = NULL,
      claimed_by = NULL,
      lease_until = CASE WHEN o.status = '${Running}' THEN j.lease_until END
    FROM unnest(${ids}, ${tokens}, ${outcomes}) AS o(id, token, status, cost, delay_ms, error, is_finished, keep_ms, result, line, progress, log)
    WHERE ${isHeld(leases)}
    RETURNING o.token`;
}

/** Comparing the two numbers first spares the search for lost ones where there are none. */
function lostOf(part: string, { ids, tokens }: BoundLeases): string {
  const told: Readonly<Record<string, string>> = { id: 'g.id', claim_token: 'g.token::text' };
  return `
    SELECT ${answered.map((column) => `${told[column] ?? 'NULL'} AS ${column}`).join(', ')}
    FROM unnest(${ids}, ${tokens}) AS g(id, token)
    WHERE (SELECT count(*) FROM ${part}) < cardinality(${ids})
      AND NOT EXISTS (SELECT FROM ${part} AS p WHERE p.token = g.token)`;
}

/** A number that no other claim has. Hashed with the id of each job it makes tokens at a tenth of the price of random uuids. */
function newNonce(): string {
  return randomBytes(8).readBigInt64LE().toString();
}

function claimParts(names: ClaimTables, claim: ClaimRequest, values: PgValues): readonly string[] {
  return [...dueParts(names, claim, values), ...fittingParts(claim, values), claimedPart(names.table, claim, values)];
}

/**
 * As many rows of the part `due`, from its first one on, as there is room for. The length of a payload that is stored apart from its row is known without reading it.
 * Rows are summed up one by one only where not all of them fit, which is rare.
 */
function fittingParts({ room, isFurther }: ClaimRequest, values: PgValues): readonly string[] {
  if (room === undefined) return ['fitting AS (SELECT ctid FROM due)'];
  const most = values.bind(Math.floor(room), 'bigint');
  const sum = `sum_of_all AS MATERIALIZED (SELECT sum(size) <= ${most} AS is_fitting FROM due)`;
  const first = isFurther === true ? '' : ' OR f.place = 1';
  const fitting = `fitting AS (
    SELECT ctid FROM due WHERE (SELECT is_fitting FROM sum_of_all)
    UNION ALL
    SELECT f.ctid
    FROM (
      SELECT ctid, sum(size) OVER w AS total, row_number() OVER w AS place
      FROM due
      WINDOW w AS (ROWS UNBOUNDED PRECEDING)
    ) AS f
    WHERE NOT (SELECT is_fitting FROM sum_of_all) AND (f.total <= ${most}${first})
  )`;
  return [sum, fitting];
}

/** Marks what stands in the part `fitting`. */
function claimedPart(table: string, claim: ClaimRequest, values: PgValues): string {
  return `claimed AS (
    UPDATE ${table} AS j
    SET status = '${Running}',
      claim_token = uuid_hash_extended(j.id, ${values.bind(newNonce(), 'bigint')}),
      claimed_by = ${values.bind(claim.owner, 'text')},
      lease_until = ${pgMoment} + ${values.bind(claim.leaseMs, 'bigint')}
    WHERE j.ctid = ANY(ARRAY(SELECT f.ctid FROM fitting AS f))
    RETURNING ${plainColumns.map((column) => `j.${column}`).join(', ')}, j.claim_token::text, j.priority, j.next_run_at, ${rare} AS rare
  )`;
}

/** Claims those of these jobs that are pending still, and nobody's. */
export function claimTheseStatement(table: string, ids: readonly string[], claim: ClaimRequest): PgStatement {
  const values = new PgValues();
  const wanted = values.bindPlain(ids, 'uuid');
  const due = `due AS MATERIALIZED (
    SELECT ctid, octet_length(payload) AS size
    FROM ${table}
    WHERE id = ANY(${wanted}) AND status = '${Pending}'
    ORDER BY array_position(${wanted}, id)
    FOR UPDATE SKIP LOCKED
  )`;
  const parts = [pgMomentPart, due, ...fittingParts(claim, values), claimedPart(table, claim, values)];
  return { text: `WITH ${parts.join(',\n')}\nSELECT ${answered.join(', ')} FROM claimed`, values: values.list };
}

/**
 * The rows to claim, locked; those that another worker is just claiming are passed over. Found by their places in the table, which
 * no planner turns into a walk through all of it.
 *
 * Each stream is looked up on its own in the index, so that jobs of others, and those that are not due yet, cost nothing however many lie
 * in front. A stream that is alone is walked through and locked at once. Of several it is first seen which rows come first of all, and
 * only those are locked.
 */
function dueParts(names: ClaimTables, claim: ClaimRequest, values: PgValues): readonly string[] {
  const { table } = names;
  const { limit, mostInterruptions, caps, keys } = claim;
  const keyless = keys === 'none' ? '\n        AND j.job_key IS NULL' : '';
  const spared =
    mostInterruptions === undefined
      ? ''
      : `\n        AND j.interruptions <= ${values.bind(mostInterruptions, 'integer')}`;
  const dueOf = (most: string): string => `
      SELECT j.ctid, j.id, j.priority, j.next_run_at, octet_length(j.payload) AS size
      FROM ${table} AS j
      WHERE j.status = '${Pending}' AND j.job_type = s.job_type AND j.queue = s.queue AND j.priority = s.priority
        AND j.next_run_at <= ${pgMoment}${spared}${keyless}
      ORDER BY j.next_run_at, j.id
      LIMIT ${caps === undefined ? most : `LEAST(${most}, s.most)`}`;
  const most = values.bind(limit, 'integer');
  const look = values.bind(limit * 2 + spare, 'integer');
  const walk = (rows: string): string => `SELECT d.ctid, d.size FROM streams AS s CROSS JOIN LATERAL (${dueOf(rows)}`;
  // Whether a part has anything to do is a condition around it: a limit that is not known beforehand makes the planner sort the table.
  const plan = 'plan AS MATERIALIZED (SELECT count(*) = 1 AS is_alone FROM streams)';
  const alone = `alone AS MATERIALIZED (
    ${walk(most)} FOR UPDATE SKIP LOCKED) AS d
    WHERE (SELECT is_alone FROM plan)
  )`;
  const candidates = `candidates AS MATERIALIZED (
    ${walk(look)}) AS d
    WHERE NOT (SELECT is_alone FROM plan)
    ORDER BY d.priority, d.next_run_at, d.id
    LIMIT ${look}
  )`;
  const free = `free AS MATERIALIZED (
    SELECT j.ctid, octet_length(j.payload) AS size
    FROM ${table} AS j
    WHERE j.ctid = ANY(ARRAY(SELECT c.ctid FROM candidates AS c)) AND j.status = '${Pending}'
    ORDER BY j.priority, j.next_run_at, j.id
    LIMIT ${most}
    FOR UPDATE SKIP LOCKED
  )`;
  const crowd = crowdParts(walk(most), { look, most });
  return [...streamParts(names, claim, values), plan, alone, candidates, free, ...crowd];
}

/**
 * Where others hold so many of the first rows that too few are free, although there are more, each stream is walked through and
 * locked until there are enough: those who hold them must not hide what lies behind. Otherwise this costs nothing.
 */
function crowdParts(walk: string, { look, most }: { readonly look: string; readonly most: string }): readonly string[] {
  const missing = `missing AS MATERIALIZED (
    SELECT (SELECT count(*) FROM free) < ${most} AND (SELECT count(*) FROM candidates) = ${look} AS is_any
  )`;
  const behind = `behind AS MATERIALIZED (
    ${walk} FOR UPDATE SKIP LOCKED) AS d
    WHERE (SELECT is_any FROM missing)
    ORDER BY d.priority, d.next_run_at, d.id
    LIMIT ${most}
  )`;
  // What is free comes again from the walk.
  const due = `due AS (
    SELECT ctid, size FROM alone
    UNION ALL
    SELECT ctid, size FROM behind
    UNION ALL
    SELECT ctid, size FROM free WHERE NOT (SELECT is_any FROM missing)
  )`;
  return [missing, behind, due];
}
