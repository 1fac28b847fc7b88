import { keyPhase, standsInLine } from '../migrations/0001-create-jobs.js';

/** The statements for jobs with keys. Values are bound in the order of their marks. */
export function keysTexts(table: string) {
  return {
    /** job_type, job_key */
    nextKey: `
      SELECT job_key FROM ${table}
      WHERE ${standsInLine} AND job_type = ? AND job_key > ?
      ORDER BY job_key
      LIMIT 1`,
    /** job_type, job_key */
    firstOfKey: `
      SELECT id, queue, interruptions, next_run_at, ${keyPhase} AS phase FROM ${table}
      WHERE ${standsInLine} AND job_type = ? AND job_key = ?
      ORDER BY ${keyPhase}, next_run_at, id
      LIMIT 1`,
    /** job_type, job_key, now */
    waitsOfKey: `
      SELECT 1 FROM ${table}
      WHERE ${standsInLine} AND job_type = ? AND job_key = ? AND ${keyPhase} = 1 AND next_run_at > ?
      LIMIT 1`,
  };
}
