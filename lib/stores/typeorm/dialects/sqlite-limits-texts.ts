import { JobState } from '../../../model/job-state.js';

/** The statements for types with limits. Values are bound in the order of their marks. */
export function limitsTexts(table: string, limits: string) {
  return {
    /** job_type */
    limits: `SELECT starts, served_key FROM ${limits} WHERE job_type = ?`,
    /** job_type, starts, served_key, starts or null, served_key or null */
    saveLimits: `
      INSERT INTO ${limits} (job_type, starts, served_key) VALUES (?, ?, ?)
      ON CONFLICT (job_type) DO UPDATE SET starts = COALESCE(?, starts), served_key = COALESCE(?, served_key)`,
    /** job_type, most */
    countRunning: `
      SELECT count(*) AS running
      FROM (SELECT 1 FROM ${table} WHERE status = '${JobState.Running}' AND job_type = ? LIMIT ?)`,
  };
}
