import { JobState } from '../../../model/job-state.js';
import { pausesType } from '../slot.js';
import { holdsKey } from '../migrations/0001-create-jobs.js';

const { Pending } = JobState;

/** The statements for jobs with conditions, and for what plain jobs do without. Values are bound in the order of their marks. */
export function admissionTexts(table: string, slots: string) {
  return {
    /** job_type, unique_key */
    holder: `
      SELECT id, status, expires_at FROM ${table} WHERE job_type = ? AND unique_key = ? AND ${holdsKey}`,
    /** payload, max_retries, next_run_at, expires_at, tags, id */
    replace: `
      UPDATE ${table}
      SET payload = ?, max_retries = ?, next_run_at = ?, expires_at = ?, tags = ?, attempts = 0,
        progress = NULL, remembered = NULL, last_error = NULL
      WHERE id = ? AND status = '${Pending}'`,
    /** job_type, slot, now */
    slotHolder: `SELECT job_id FROM ${slots} WHERE job_type = ? AND slot = ? AND free_at > ?`,
    /** job_type, slot, job_id, free_at */
    takeSlot: `
      INSERT INTO ${slots} (job_type, slot, job_id, free_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (job_type, slot) DO UPDATE SET job_id = excluded.job_id, free_at = excluded.free_at`,
    /** slot */
    pause: `SELECT 1 FROM ${slots} WHERE job_type = '${pausesType}' AND slot = ?`,
    pauses: `SELECT slot FROM ${slots} WHERE job_type = '${pausesType}'`,
    /** now, limit */
    pruneSlots: `
      DELETE FROM ${slots}
      WHERE rowid IN (SELECT rowid FROM ${slots} WHERE free_at <= ? ORDER BY free_at LIMIT ?)`,
  };
}
