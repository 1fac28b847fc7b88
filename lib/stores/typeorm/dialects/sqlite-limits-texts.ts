import { JobState } from '../../../model/job-state.js';

/** The statements for types with limits. Values are bound in the order of their marks. */
export function limitsTexts(table: string, limits: string) {
  return {
    /** job_type */
    limits: `SELECT starts FROM ${limits} WHERE job_type = ?`,
    /** job_type, starts */
    saveStarts: `
      INSERT INTO ${limits} (job_type, starts) VALUES (?, ?)
      ON CONFLICT (job_type) DO UPDATE SET starts = excluded.starts`,
    /** job_type, most */
    countRunning: `
      SELECT count(*) AS running
      FROM (SELECT 1 FROM ${table} WHERE status = '${JobState.Running}' AND job_type = ? LIMIT ?)`,
  };
}
