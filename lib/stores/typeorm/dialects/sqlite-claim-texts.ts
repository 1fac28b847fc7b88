import { JobState } from '../../../model/job-state.js';
import { rareColumns } from '../job-row.js';

const { Pending, Running } = JobState;

/** What is rare comes as one text, or none: each column costs every job that is claimed. */
const rare = `
  CASE WHEN COALESCE(${rareColumns.join(', ')}) IS NOT NULL
    THEN json_object(${rareColumns.map((column) => `'${column}', ${column}`).join(', ')})
  END`;

/** The statements that look for due jobs and claim them. Values are bound in the order of their marks. */
export function claimTexts(table: string) {
  return {
    /** job_type, queue, priority, now, most interruptions, limit. Answers with the place, what orders jobs, the key and the length of the payload. */
    due: dueText(table, 'length(payload)', ''),
    /** The same, of jobs without a key. */
    dueKeyless: dueText(table, 'length(payload)', ' AND job_key IS NULL'),
    /** The same as `due`, but payloads are not looked at. */
    dueKeys: dueText(table, '0', ''),
    /** id. Answers with the place and the length of the payload. */
    pendingById: `SELECT rowid AS place, length(payload) AS characters FROM ${table} WHERE id = ? AND status = '${Pending}'`,
    /** first part of claim_token, claimed_by, lease_until, places as JSON. Answers with the place, the moment at which it was due, what is rare, and the rest. */
    claim: `
      UPDATE ${table}
      SET status = '${Running}', claim_token = ? || id, claimed_by = ?, lease_until = ?
      WHERE rowid IN (SELECT value FROM json_each(?)) AND status = '${Pending}'
      RETURNING rowid, next_run_at, ${rare}, id, job_type, payload, attempts, max_retries, interruptions, created_at`,
  };
}

function dueText(table: string, characters: string, also: string): string {
  return `
      SELECT rowid, priority, next_run_at, id, job_key, ${characters} FROM ${table}
      WHERE status = '${Pending}' AND job_type = ? AND queue = ? AND priority = ? AND next_run_at <= ?
        AND interruptions <= ?${also}
      ORDER BY next_run_at, id
      LIMIT ?`;
}
