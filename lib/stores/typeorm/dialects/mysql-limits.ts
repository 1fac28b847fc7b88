import { JobState } from '../../../model/job-state.js';
import type { AskedType } from '../../job-store.js';
import type { LimitChanges } from '../limited-claim.js';
import type { SqlNames } from '../table-name.js';
import { inList, mysqlNowMs, type MysqlStatement } from './mysql-statements.js';

const { Pending, Running } = JobState;

/**
 * Three answers in one: the types that have pending jobs, due or not; how many jobs of each run; what has started lately. Nothing is locked, and
 * the server looks at one entry of its index for each type that waits, not at one for each job.
 */
export function lookAtLimitsStatement({ table, limits }: SqlNames, types: readonly AskedType[]): MysqlStatement {
  const all = inList(types.map(({ type }) => type));
  const counted = inList(
    types.filter(({ globalConcurrency }) => globalConcurrency !== undefined).map(({ type }) => type),
  );
  const waiting = `(SELECT job_type FROM ${table} WHERE status = '${Pending}' AND job_type = ? LIMIT 1)`;
  const running = `
    UNION ALL
    SELECT job_type, COUNT(*), NULL, NULL FROM ${table}
    WHERE status = '${Running}' AND job_type IN (${counted.marks})
    GROUP BY job_type`;
  return {
    text: `SELECT job_type, NULL AS running, NULL AS starts, ${mysqlNowMs} AS now_ms
      FROM (${all.values.map(() => waiting).join(' UNION ')}) AS waiting
      UNION ALL
      SELECT job_type, NULL, starts, NULL FROM ${limits} WHERE job_type IN (${all.marks})${counted.values[0] === '' ? '' : running}`,
    values: [...all.values, ...all.values, ...(counted.values[0] === '' ? [] : counted.values)],
  };
}

/** MariaDB, which alone reads that kind of comment, waits no longer than a second; MySQL as long as the session says. */
export function lockLimitsStatement(limits: string, type: string): MysqlStatement {
  return {
    text: `SELECT job_type, starts, served_key, ${mysqlNowMs} AS now_ms FROM ${limits} WHERE job_type = ? FOR UPDATE /*M!100300 WAIT 1 */`,
    values: [type],
  };
}

export function createLimitsStatement(limits: string, type: string): MysqlStatement {
  return { text: `INSERT IGNORE INTO ${limits} (job_type, starts, served_key) VALUES (?, '', '')`, values: [type] };
}

export function countRunningStatement(table: string, type: string): MysqlStatement {
  return {
    text: `SELECT COUNT(*) AS running FROM ${table} WHERE status = '${Running}' AND job_type = ?`,
    values: [type],
  };
}

export function saveLimitsStatement(limits: string, type: string, { starts, served }: LimitChanges): MysqlStatement {
  return {
    text: `UPDATE ${limits} SET starts = COALESCE(?, starts), served_key = COALESCE(?, served_key) WHERE job_type = ?`,
    values: [starts ?? null, served ?? null, type],
  };
}
