import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest } from '../../job-store.js';
import { mostDueSeen, type KeySource } from '../../key-line.js';
import type { TableNames } from '../admin/sql-text.js';
import { keyPhase, standsInLine } from '../migrations/0001-create-jobs.js';
import { isRunning, streamParts } from './postgres-streams.js';
import { pgMoment, pgMomentPart, PgValues, type PgStatement } from './postgres-values.js';

/** The keys of the jobs that have been due for the longest time, of those that a claim could take. */
export function dueKeysStatement(names: TableNames, claim: ClaimRequest): PgStatement {
  const values = new PgValues();
  const parts = [pgMomentPart, ...streamParts(names, claim, values)];
  return {
    text: `WITH RECURSIVE ${parts.join(',\n')}
    SELECT d.job_key FROM streams AS s CROSS JOIN LATERAL (
      SELECT j.job_key
      FROM ${names.table} AS j
      WHERE j.status = '${JobState.Pending}' AND j.job_type = s.job_type AND j.queue = s.queue AND j.priority = s.priority
        AND j.next_run_at <= ${pgMoment}
      ORDER BY j.next_run_at, j.id
      LIMIT ${mostDueSeen}
    ) AS d
    LIMIT ${mostDueSeen}`,
    values: values.list,
  };
}

/**
 * The job that stands first of each key, where it may run: none of its key runs, and none that was started before waits for its time. Two or three
 * looks at the index for each key, however many jobs it has.
 */
export function headsStatement(
  { table, slots }: TableNames,
  { type, source }: { readonly type: string; readonly source: KeySource },
): PgStatement {
  const values = new PgValues();
  const jobType = values.bind(type, 'text');
  const ofType = `${standsInLine} AND job_type = ${jobType}`;
  const text = `
    WITH RECURSIVE ${pgMomentPart},
    ${keysPart(table, { ofType, source }, values)}
    SELECT w.job_key, h.id, h.queue, h.interruptions
    FROM keys AS w LEFT JOIN LATERAL (
      SELECT s.* FROM (
        SELECT id, job_type, queue, interruptions, next_run_at, ${keyPhase} AS phase
        FROM ${table}
        WHERE ${ofType} AND job_key = w.job_key
        ORDER BY ${keyPhase}, next_run_at, id
        LIMIT 1
      ) AS s
      WHERE s.phase > 0 AND s.next_run_at <= ${pgMoment} AND ${isRunning(slots)} AND NOT (
        s.phase = 1 AND EXISTS (
          SELECT FROM ${table} WHERE ${ofType} AND job_key = w.job_key AND ${keyPhase} = 1 AND next_run_at > ${pgMoment}
        )
      )
    ) AS h ON true
    ORDER BY w.place`;
  return { text, values: values.list };
}

function keysPart(
  table: string,
  { ofType, source }: { readonly ofType: string; readonly source: KeySource },
  values: PgValues,
): string {
  if ('keys' in source) {
    return `keys AS (SELECT * FROM unnest(${values.bindTexts(source.keys)}) WITH ORDINALITY AS k(job_key, place))`;
  }
  const next = (above: string): string =>
    `(SELECT job_key FROM ${table} WHERE ${ofType} AND job_key > ${above} ORDER BY job_key LIMIT 1)`;
  return `keys AS (
      SELECT f.job_key, 1 AS place FROM ${next(values.bind(source.after, 'text'))} AS f
      UNION ALL
      SELECT n.job_key, k.place + 1
      FROM keys AS k CROSS JOIN LATERAL ${next('k.job_key')} AS n
      WHERE k.place < ${values.bind(source.count, 'integer')}
    )`;
}
