import type { NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import { toNewRow } from '../job-row.js';
import { holdsKey } from '../migrations/0001-create-jobs.js';
import { slotOf } from '../slot.js';
import { newRows } from './postgres-statements.js';
import { pgNowMs, PgValues, type PgStatement } from './postgres-values.js';

const { Pending, Running } = JobState;

/** What a statement that may wait for others does besides its work. */
export interface AdmissionExtras {
  /** Where other processes are told, once it is committed; undefined tells nobody. */
  readonly channel: string | undefined;
  /** Milliseconds after which it fails instead of waiting longer; undefined leaves that to the caller's own settings. */
  readonly patienceMs: number | undefined;
}

/** Stores those whose key is free and answers with their ids. It takes no lock on a job that holds a key. */
export function insertAbsentStatement(table: string, jobs: readonly NewJob[], extras: AdmissionExtras): PgStatement {
  const values = new PgValues();
  const { columns, rows } = newRows(values, jobs, extras.patienceMs === undefined ? '' : ' CROSS JOIN patience');
  const text = `
    WITH ${patienceParts(values, extras)}inserted AS (
      INSERT INTO ${table} (${columns}) ${rows}
      ON CONFLICT (job_type, unique_key) WHERE ${holdsKey} DO NOTHING
      RETURNING id
    )
    SELECT id${told(values, extras)} FROM inserted`;
  return { text, values: values.list };
}

/** The jobs that hold the keys of these. */
export function holdersStatement(table: string, jobs: readonly NewJob[]): PgStatement {
  const values = new PgValues();
  const types = values.bindTexts(jobs.map(({ type }) => type));
  const keys = values.bindTexts(jobs.map(({ uniqueKey }) => uniqueKey ?? null));
  const text = `
    SELECT j.id, j.job_type, j.unique_key, j.status, COALESCE(j.expires_at <= ${pgNowMs}, false) AS is_expired
    FROM unnest(${types}, ${keys}) AS k(job_type, unique_key)
    JOIN ${table} AS j ON j.job_type = k.job_type AND j.unique_key = k.unique_key
    WHERE j.unique_key IS NOT NULL AND j.status IN ('${Pending}', '${Running}')`;
  return { text, values: values.list };
}

/** Gives a pending job what this one says. One that is locked is passed over: it is just being claimed, or replaced by somebody else. */
export function replaceStatement(table: string, id: string, job: NewJob, extras: AdmissionExtras): PgStatement {
  const values = new PgValues();
  const row = toNewRow(job);
  const text = `
    UPDATE ${table}
    SET payload = ${values.bind(row.payload, 'text')},
      max_retries = ${values.bind(row.maxRetries, 'integer')},
      next_run_at = COALESCE(${values.bind(row.runAt, 'bigint')}, ${pgNowMs} + ${values.bind(row.delayMs, 'bigint')}),
      expires_at = COALESCE(${values.bind(row.expiresAt, 'bigint')}, ${pgNowMs} + ${values.bind(row.expiresInMs, 'bigint')}),
      tags = ${values.bind(row.tags, 'text')},
      attempts = 0,
      progress = NULL,
      remembered = NULL,
      last_error = NULL
    WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${table} WHERE id = ${values.bind(id, 'uuid')} AND status = '${Pending}' FOR UPDATE SKIP LOCKED
    ))
    RETURNING id${told(values, extras)}`;
  return { text, values: values.list };
}

/** Takes the slot of a throttle where it is free; answers with nothing where it is not. */
export function takeSlotStatement(slots: string, job: NewJob, extras: AdmissionExtras): PgStatement {
  const values = new PgValues();
  const { slot, windowMs } = slotOf(job);
  const text = `
    WITH ${patienceParts(values, extras)}now AS MATERIALIZED (SELECT ${pgNowMs} AS ms)
    INSERT INTO ${slots} AS s (job_type, slot, job_id, free_at)
    SELECT ${values.bind(job.type, 'text')}, ${values.bind(slot, 'text')}, ${values.bind(job.id, 'uuid')},
      now.ms + ${values.bind(windowMs, 'bigint')}
    FROM now${extras.patienceMs === undefined ? '' : ' CROSS JOIN patience'}
    ON CONFLICT (job_type, slot) DO UPDATE
    SET job_id = EXCLUDED.job_id, free_at = EXCLUDED.free_at
    WHERE s.free_at <= (SELECT ms FROM now)
    RETURNING job_id`;
  return { text, values: values.list };
}

/** The job that has the slot, where it is not free. */
export function slotHolderStatement(slots: string, job: NewJob): PgStatement {
  return {
    text: `SELECT job_id FROM ${slots} WHERE job_type = $1::text AND slot = $2::text AND free_at > ${pgNowMs}`,
    values: [job.type, slotOf(job).slot],
  };
}

export function pruneSlotsStatement(slots: string, limit: number): PgStatement {
  const text = `
    DELETE FROM ${slots}
    WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${slots} WHERE free_at <= ${pgNowMs} ORDER BY free_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
    ))`;
  return { text, values: [limit] };
}

/** Set for this transaction only, and before the first row is there that might have to wait. */
function patienceParts(values: PgValues, { patienceMs }: AdmissionExtras): string {
  if (patienceMs === undefined) return '';
  return `patience AS MATERIALIZED (SELECT set_config('lock_timeout', ${values.bind(String(patienceMs), 'text')}, true)), `;
}

/** Evaluated once, and only when there is a row. */
function told(values: PgValues, { channel }: AdmissionExtras): string {
  return channel === undefined ? '' : `, (SELECT pg_notify(${values.bind(channel, 'text')}, '')) AS told`;
}
