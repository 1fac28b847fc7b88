import type { Lease, NewJob } from '../../../model/job.js';
import { interruptedLine } from '../../../model/attempt-history.js';
import { JobState } from '../../../model/job-state.js';
import type { JobNote, PruneRequest, RecoverRequest } from '../../job-store.js';
import { extraColumnsOf, type ExtraColumn } from '../extra-columns.js';
import { interruptionError, toNewRow, type NewRow } from '../job-row.js';
import {
  pgAppended,
  pgLogged,
  pgMoment,
  pgMomentPart,
  pgNowMs,
  PgValues,
  type PgStatement,
} from './postgres-values.js';

const { Pending, Running, Failed, Cancelled } = JobState;

/**
 * Stores any number of jobs with one text.
 *
 * @param channel Where other processes are told, once it is committed; undefined tells nobody.
 */
export function insertStatement(table: string, jobs: readonly NewJob[], channel: string | undefined): PgStatement {
  const values = new PgValues();
  const { columns, rows } = newRows(values, jobs);
  const insert = `INSERT INTO ${table} (${columns}) ${rows}`;
  if (channel === undefined) return { text: insert, values: values.list };
  const notify = `SELECT pg_notify(${values.bind(channel, 'text')}, '')`;
  return { text: `WITH inserted AS (${insert})\n${notify}`, values: values.list };
}

/** What an INSERT takes its rows from. */
export interface PgRows {
  readonly columns: string;
  /** A query. */
  readonly rows: string;
}

/**
 * Rows of pending jobs, in their order. The columns that only some jobs need are there only where one of these does.
 *
 * @param beside Joined to them, to be evaluated before the first row is there.
 */
export function newRows(values: PgValues, jobs: readonly NewJob[], beside = ''): PgRows {
  const rows = jobs.map(toNewRow);
  const extras = extraColumnsOf(rows);
  const names = ['id, job_type, payload, max_retries, run_at, delay_ms', ...extras.flatMap(inputNames)];
  const bound = [bindPlain(values, rows), ...extras.flatMap((extra) => bindExtra(values, extra, rows))];
  const refs = (extra: ExtraColumn): readonly string[] => inputNames(extra).map((name) => `i.${name}`);
  const selected = extras.map((extra) => `, ${extra.sql(refs(extra), 'm.ms')}`).join('');
  return {
    columns: [
      'id, job_type, payload, status, max_retries, next_run_at, created_at',
      ...extras.map(({ name }) => name),
    ].join(', '),
    rows: `
    SELECT i.id, i.job_type, i.payload, '${Pending}', i.max_retries, COALESCE(i.run_at, m.ms + i.delay_ms), m.ms${selected}
    FROM unnest(${bound.join(', ')}) AS i(${names.join(', ')})
    CROSS JOIN (SELECT ${pgNowMs} AS ms) AS m${beside}`,
  };
}

function bindPlain(values: PgValues, rows: readonly NewRow[]): string {
  const ids = rows.map(({ id }) => id);
  const retries = rows.map(({ maxRetries }) => maxRetries);
  const moments = rows.map(({ runAt }) => runAt);
  const delays = rows.map(({ delayMs }) => delayMs);
  return [
    values.bindPlain(ids, 'uuid'),
    values.bindTexts(rows.map(({ type }) => type)),
    values.bindTexts(rows.map(({ payload }) => payload)),
    values.bindPlain(retries, 'integer'),
    values.bindPlain(moments, 'bigint'),
    values.bindPlain(delays, 'bigint'),
  ].join(', ');
}

/** The names under which the values of a column come out of the arrays. */
function inputNames({ name, inputs }: ExtraColumn): readonly string[] {
  return inputs.map((_input, index) => `${name}_${index}`);
}

function bindExtra(values: PgValues, { type, inputs }: ExtraColumn, rows: readonly NewRow[]): readonly string[] {
  return inputs.map((input) => values.bind(rows.map(input), `${type}[]`));
}

/** Answers with the tokens whose leases were extended. */
export function extendStatement(table: string, leases: readonly Lease[], leaseMs: number): PgStatement {
  const values = new PgValues();
  const { ids, tokens } = values.bindLeases(leases);
  const text = `
    UPDATE ${table}
    SET lease_until = ${pgNowMs} + ${values.bind(leaseMs, 'bigint')}
    WHERE id = ANY(${ids}) AND claim_token = ANY(${tokens}) AND status = '${Running}'
    RETURNING claim_token::text AS token`;
  return { text, values: values.list };
}

export function noteStatement(table: string, notes: readonly JobNote[]): PgStatement {
  const values = new PgValues();
  const { ids, tokens } = values.bindLeases(notes);
  const progress = values.bindTexts(notes.map((note) => note.progress ?? null));
  const logs = values.bindTexts(notes.map((note) => note.log ?? null));
  const text = `
    UPDATE ${table} AS j
    SET progress = COALESCE(o.progress, j.progress), log = ${pgLogged('j.log', 'o.log')}
    FROM unnest(${ids}, ${tokens}, ${progress}, ${logs}) AS o(id, token, progress, log)
    WHERE j.id = ANY(${ids}) AND j.id = o.id AND j.claim_token = o.token AND j.status = '${Running}'`;
  return { text, values: values.list };
}

/** Answers with the ids of those among these jobs that are cancelled. */
export function cancelledStatement(table: string, leases: readonly Lease[]): PgStatement {
  const values = new PgValues();
  const ids = values.bindPlain(
    leases.map(({ id }) => id),
    'uuid',
  );
  return { text: `SELECT id FROM ${table} WHERE id = ANY(${ids}) AND status = '${Cancelled}'`, values: values.list };
}

function expiredPart(table: string, request: RecoverRequest, values: PgValues): string {
  return `expired AS (
      SELECT id,
        interruptions + (claimed_by IS NOT NULL)::integer AS interruptions,
        claimed_by IS NOT NULL AND interruptions > 0 AS is_repeated,
        claimed_by IS NOT NULL AND interruptions + 1 >= ${values.bind(request.maxInterruptions, 'integer')} AS is_failed
      FROM ${table}
      WHERE status = '${Running}' AND (
          lease_until IS NULL OR lease_until <= ${pgMoment} OR claimed_by = ANY(${values.bindTexts(request.deadOwners ?? [])})
        )
        AND claimed_by IS DISTINCT FROM ${values.bind(request.owner, 'text')}
      ORDER BY lease_until, id
      LIMIT ${values.bind(request.limit, 'integer')}
      FOR UPDATE SKIP LOCKED
    )`;
}

/** The end of a lease counts as an interruption unless the claim was given up on purpose: then `claimed_by` is null. */
export function recoverStatement(table: string, request: RecoverRequest): PgStatement {
  const values = new PgValues();
  const [before, after] = interruptionError(request.maxInterruptions);
  const [lineBefore, lineAfter] = interruptedLine;
  const line = `${values.bind(lineBefore, 'text')} || (j.attempts + 1) || ${values.bind(lineAfter, 'text')}`;
  const text = `
    WITH ${pgMomentPart},
    ${expiredPart(table, request, values)}
    UPDATE ${table} AS j
    SET status = CASE WHEN e.is_failed THEN '${Failed}' ELSE '${Pending}' END,
      interruptions = e.interruptions,
      next_run_at = CASE
        WHEN e.is_failed THEN j.next_run_at
        WHEN e.is_repeated THEN ${pgMoment} + (e.interruptions - 1) * ${values.bind(request.backoffMs, 'bigint')}
        ELSE LEAST(j.next_run_at, ${pgMoment})
      END,
      last_error = CASE
        WHEN e.is_failed THEN ${values.bind(before, 'text')} || e.interruptions || ${values.bind(after, 'text')}
        ELSE j.last_error
      END,
      finished_at = CASE WHEN e.is_failed THEN ${pgMoment} END,
      keep_until = NULL,
      history = ${pgAppended('j.history', `CASE WHEN j.claimed_by IS NOT NULL THEN ${line} END`)},
      claim_token = NULL,
      claimed_by = NULL,
      lease_until = NULL
    FROM expired AS e
    WHERE j.id = e.id
    RETURNING j.id, j.job_type, j.interruptions, j.status`;
  return { text, values: values.list };
}

export function foreignClaimsStatement(table: string, owner: string): PgStatement {
  const text = `
    SELECT claimed_by, min(lease_until) - ${pgNowMs} AS ends, count(*) - count(lease_until) AS without_lease
    FROM ${table}
    WHERE status = '${Running}' AND claimed_by IS DISTINCT FROM $1::text
    GROUP BY claimed_by`;
  return { text, values: [owner] };
}

/** Both orders are that of the index, so that no more rows are read than go. */
export function pruneStatement(table: string, { state, endedForMs, limit }: PruneRequest): PgStatement {
  const values = new PgValues();
  const most = values.bind(limit, 'integer');
  const first = (condition: string): string => `ARRAY(
      SELECT ctid FROM ${table}
      WHERE finished_at IS NOT NULL AND status = '${state}' AND ${condition}
      ORDER BY keep_until, finished_at
      LIMIT ${most}
      FOR UPDATE SKIP LOCKED
    )`;
  const kept = first(`keep_until <= ${pgNowMs}`);
  const until = Number.isFinite(endedForMs) ? values.bind(endedForMs, 'bigint') : undefined;
  const places =
    until === undefined ? kept : `${kept} || ${first(`keep_until IS NULL AND finished_at <= ${pgNowMs} - ${until}`)}`;
  return { text: `DELETE FROM ${table} WHERE ctid = ANY(${places})`, values: values.list };
}

export function disownStatement(table: string, owner: string, held: readonly Lease[]): PgStatement {
  const values = new PgValues();
  const tokens = held.map(({ token }) => token);
  const text = `
    UPDATE ${table}
    SET status = '${Pending}', claim_token = NULL, claimed_by = NULL, lease_until = NULL
    WHERE status = '${Running}' AND claimed_by = ${values.bind(owner, 'text')}
      AND (claim_token IS NULL OR claim_token <> ALL(${values.bindPlain(tokens, 'bigint')}))`;
  return { text, values: values.list };
}
