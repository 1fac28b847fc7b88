import type { NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import { scopedKey } from '../../../model/unique-key.js';
import { toNewRow, toText, type Row } from '../job-row.js';
import { slotOf } from '../slot.js';
import { inList, mysqlNowMs, textBinding, type MysqlStatement, type TextBinding } from './mysql-statements.js';

const { Pending } = JobState;

/** A locking read sees what is committed by now, and what this transaction has written itself, whatever its isolation. */
export type Reading = '' | 'LOCK IN SHARE MODE';

/** The jobs that hold the keys of these. */
export function holdersStatement(
  table: string,
  jobs: readonly NewJob[],
  { binding, reading }: { readonly binding: TextBinding; readonly reading: Reading },
): MysqlStatement {
  const { mark, bound } = textBinding(binding);
  const keys = inList(jobs.map(({ type, uniqueKey }) => scopedKey(type, uniqueKey ?? ''))).values;
  return {
    text: `SELECT id, job_type, unique_key, status, COALESCE(expires_at <= ${mysqlNowMs}, 0) AS is_expired FROM ${table}
      WHERE held_key IN (${keys.map(() => mark).join(', ')}) ${reading}`,
    values: keys.map(bound),
  };
}

/** Which of these are in the table. */
export function presentStatement(table: string, ids: readonly string[]): MysqlStatement {
  const list = inList(ids);
  return { text: `SELECT id FROM ${table} WHERE id IN (${list.marks})`, values: list.values };
}

/** Gives a pending job what this one says. */
export function replaceStatement(
  table: string,
  id: string,
  { job, binding }: { readonly job: NewJob; readonly binding: TextBinding },
): MysqlStatement {
  const { mark, bound } = textBinding(binding);
  const row = toNewRow(job);
  return {
    text: `UPDATE ${table}
      SET payload = ${mark},
        max_retries = ?,
        next_run_at = COALESCE(?, ${mysqlNowMs} + ?),
        expires_at = COALESCE(?, ${mysqlNowMs} + ?),
        tags = ${mark},
        attempts = 0,
        progress = NULL,
        remembered = NULL,
        last_error = NULL
      WHERE id = ? AND status = '${Pending}'`,
    values: [
      bound(row.payload),
      row.maxRetries,
      row.runAt,
      row.delayMs,
      row.expiresAt,
      row.expiresInMs,
      bound(row.tags),
      id,
    ],
  };
}

/** Takes the slot of a throttle where it is free. MySQL assigns from left to right, so what the others are computed from comes last. */
export function takeSlotStatement(slots: string, job: NewJob, binding: TextBinding): MysqlStatement {
  const { mark, bound } = textBinding(binding);
  const { slot, windowMs } = slotOf(job);
  return {
    text: `INSERT INTO ${slots} (job_type, slot, job_id, free_at) VALUES (${mark}, ${mark}, ?, ${mysqlNowMs} + ?)
      ON DUPLICATE KEY UPDATE
        job_id = CASE WHEN free_at <= ${mysqlNowMs} THEN VALUES(job_id) ELSE job_id END,
        free_at = CASE WHEN free_at <= ${mysqlNowMs} THEN VALUES(free_at) ELSE free_at END`,
    values: [bound(job.type), bound(slot), job.id, windowMs],
  };
}

/** The job that has the slot. */
export function slotHolderStatement(
  slots: string,
  job: NewJob,
  { binding, reading }: { readonly binding: TextBinding; readonly reading: Reading },
): MysqlStatement {
  const { mark, bound } = textBinding(binding);
  const taken = reading === '' ? ` AND free_at > ${mysqlNowMs}` : '';
  return {
    text: `SELECT job_id FROM ${slots} WHERE job_type = ${mark} AND slot = ${mark}${taken} ${reading}`,
    values: [bound(job.type), bound(slotOf(job).slot)],
  };
}

/** By names that are looked up without a lock: a locking search by time would lock what it passes. */
export function freeSlotsStatement(slots: string, limit: number): MysqlStatement {
  const most = Math.max(1, Math.floor(limit));
  return {
    text: `SELECT job_type, slot FROM ${slots} WHERE free_at <= ${mysqlNowMs} ORDER BY free_at LIMIT ${most}`,
    values: [],
  };
}

export function pruneSlotsStatement(slots: string, rows: readonly Row[]): MysqlStatement {
  const names = rows.map((row) => JSON.stringify([toText(row['job_type']), toText(row['slot'])])).toSorted();
  const filled = inList(names).values.map((name) => JSON.parse(name) as [string, string]);
  return {
    text: `DELETE FROM ${slots}
      WHERE (job_type, slot) IN (${filled.map(() => '(?, ?)').join(', ')}) AND free_at <= ${mysqlNowMs}`,
    values: filled.flat(),
  };
}
