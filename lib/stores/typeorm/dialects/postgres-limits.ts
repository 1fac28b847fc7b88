import { JobState } from '../../../model/job-state.js';
import type { AskedType } from '../../job-store.js';
import { mostCounted } from '../../limit-state.js';
import type { LimitChanges } from '../limited-claim.js';
import type { SqlNames } from '../table-name.js';
import { pgNowMs, PgValues, type PgStatement } from './postgres-values.js';

const { Pending, Running } = JobState;

/** The state of those types that have pending jobs, due or not; nothing is locked. */
export function lookAtLimitsStatement({ table, limits }: SqlNames, types: readonly AskedType[]): PgStatement {
  const values = new PgValues();
  const names = values.bindTexts(types.map(({ type }) => type));
  const counted = values.bindPlain(types.map(mostCounted), 'integer');
  const text = `
    SELECT w.job_type, l.starts, ${pgNowMs} AS now_ms, (
      SELECT count(*) FROM (
        SELECT FROM ${table} AS j WHERE j.status = '${Running}' AND j.job_type = w.job_type LIMIT w.counted
      ) AS r
    ) AS running
    FROM unnest(${names}, ${counted}) AS w(job_type, counted)
    CROSS JOIN LATERAL (
      SELECT FROM ${table} AS j
      WHERE j.status = '${Pending}' AND j.job_type = w.job_type
      ORDER BY j.queue, j.priority
      LIMIT 1
    ) AS waiting
    LEFT JOIN ${limits} AS l ON l.job_type = w.job_type`;
  return { text, values: values.list };
}

/** What it says is not older than the lock: its clock was read before others could have used theirs, which is the safe way round. */
export function lockLimitsStatement(limits: string, type: string): PgStatement {
  return {
    text: `SELECT job_type, starts, served_key, ${pgNowMs} AS now_ms FROM ${limits} WHERE job_type = $1::text FOR UPDATE`,
    values: [type],
  };
}

export function createLimitsStatement(limits: string, type: string): PgStatement {
  return {
    text: `INSERT INTO ${limits} (job_type, starts, served_key) VALUES ($1::text, '', '') ON CONFLICT (job_type) DO NOTHING`,
    values: [type],
  };
}

export function countRunningStatement(table: string, type: string, most: number): PgStatement {
  return {
    text: `SELECT count(*) AS running FROM (
      SELECT FROM ${table} WHERE status = '${Running}' AND job_type = $1::text LIMIT $2::integer
    ) AS r`,
    values: [type, most],
  };
}

export function saveLimitsStatement(limits: string, type: string, { starts, served }: LimitChanges): PgStatement {
  return {
    text: `UPDATE ${limits}
      SET starts = COALESCE($2::text, starts), served_key = COALESCE($3::text, served_key)
      WHERE job_type = $1::text`,
    values: [type, starts ?? null, served ?? null],
  };
}
