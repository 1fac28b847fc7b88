import type { Lease, NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import type { PruneRequest, RecoverRequest } from '../../job-store.js';
import { interruptionError, isAnyCarrying, toNewRow } from '../job-row.js';
import { pgMoment, pgMomentPart, pgNowMs, PgValues, type PgStatement } from './postgres-values.js';

const { Pending, Running, Failed } = JobState;

/**
 * Stores any number of jobs with one text.
 *
 * @param channel Where other processes are told, once it is committed; undefined tells nobody.
 */
export function insertStatement(table: string, jobs: readonly NewJob[], channel: string | undefined): PgStatement {
  const values = new PgValues();
  const [context, read] = isAnyCarrying(jobs) ? [', context', ', i.context'] : ['', ''];
  const insert = `
    INSERT INTO ${table} (id, job_type, payload, status, max_retries, next_run_at, created_at${context})
    SELECT i.id, i.job_type, i.payload, '${Pending}', i.max_retries, COALESCE(i.run_at, m.ms + i.delay_ms), m.ms${read}
    FROM unnest(${bindJobs(values, jobs)}) AS i(id, job_type, payload, max_retries, run_at, delay_ms${context})
    CROSS JOIN (SELECT ${pgNowMs} AS ms) AS m`;
  if (channel === undefined) return { text: insert, values: values.list };
  const notify = `SELECT pg_notify(${values.bind(channel, 'text')}, '')`;
  return { text: `WITH inserted AS (${insert})\n${notify}`, values: values.list };
}

function bindJobs(values: PgValues, jobs: readonly NewJob[]): string {
  const rows = jobs.map(toNewRow);
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
    ...(isAnyCarrying(jobs) ? [values.bindTexts(rows.map(({ context }) => context))] : []),
  ].join(', ');
}

/** Answers with the tokens whose leases were extended. */
export function extendStatement(table: string, leases: readonly Lease[], leaseMs: number): PgStatement {
  const values = new PgValues();
  const { ids, tokens } = values.bindLeases(leases);
  const text = `
    UPDATE ${table}
    SET lease_until = ${pgNowMs} + ${values.bind(leaseMs, 'bigint')}
    WHERE id = ANY(${ids}) AND claim_token = ANY(${tokens}) AND status = '${Running}'
    RETURNING claim_token AS token`;
  return { text, values: values.list };
}

/** The end of a lease counts as an interruption unless the claim was given up on purpose: then `claimed_by` is null. */
export function recoverStatement(table: string, request: RecoverRequest): PgStatement {
  const values = new PgValues();
  const [before, after] = interruptionError(request.maxInterruptions);
  const text = `
    WITH ${pgMomentPart},
    expired AS (
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
    )
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

export function pruneStatement(table: string, { failedForMs, limit }: PruneRequest): PgStatement {
  const values = new PgValues();
  const text = `
    DELETE FROM ${table}
    WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${table}
      WHERE status = '${Failed}' AND finished_at <= ${pgNowMs} - ${values.bind(failedForMs, 'bigint')}
      ORDER BY finished_at
      LIMIT ${values.bind(limit, 'integer')}
      FOR UPDATE SKIP LOCKED
    ))`;
  return { text, values: values.list };
}

export function disownStatement(table: string, owner: string, held: readonly Lease[]): PgStatement {
  const values = new PgValues();
  const tokens = held.map(({ token }) => token);
  const text = `
    UPDATE ${table}
    SET status = '${Pending}', claim_token = NULL, claimed_by = NULL, lease_until = NULL
    WHERE status = '${Running}' AND claimed_by = ${values.bind(owner, 'text')}
      AND (claim_token IS NULL OR claim_token <> ALL(${values.bindPlain(tokens, 'uuid')}))`;
  return { text, values: values.list };
}
