import type { StatisticsRow } from '../../statistics.js';
import { toText, type Row } from '../job-row.js';
import type { SqlText, TextMaker } from './sql-text.js';

const columns = ['minute', 'job_type', 'owner', 'completed', 'failed', 'retried', 'waits', 'runs'].join(', ');

/** @param orNothing How the database is told to leave alone what is there already. */
export function recordStatement(orNothing: string): TextMaker<readonly StatisticsRow[]> {
  return (sql, rows) => `
    INSERT INTO ${sql.statistics} (${columns})
    VALUES ${rows.map((row) => `(${valuesOf(sql, row)})`).join(', ')}
    ${orNothing}`;
}

export const readStatement: TextMaker<number> = (sql, fromMinute) => `
    SELECT ${columns} FROM ${sql.statistics}
    WHERE minute >= ${sql.bind(fromMinute, 'bigint')}
    ORDER BY minute, job_type, owner`;

export const forgetStatement: TextMaker<number> = (sql, beforeMinute) =>
  `DELETE FROM ${sql.statistics} WHERE minute < ${sql.bind(beforeMinute, 'bigint')}`;

export const oldestStatement: TextMaker = (sql) => `SELECT min(minute) AS minute FROM ${sql.statistics}`;

export const nowStatement: TextMaker = (sql) => `SELECT ${sql.now()} AS now_ms`;

export function toStatisticsRow(row: Row): StatisticsRow {
  return {
    minute: Number(row['minute']),
    type: toText(row['job_type']),
    owner: toText(row['owner']),
    completed: Number(row['completed']),
    failed: Number(row['failed']),
    retried: Number(row['retried']),
    waits: toText(row['waits']),
    runs: toText(row['runs']),
  };
}

function valuesOf(sql: SqlText, row: StatisticsRow): string {
  return [
    sql.bind(row.minute, 'bigint'),
    sql.bind(row.type, 'text'),
    sql.bind(row.owner, 'text'),
    sql.bind(row.completed, 'bigint'),
    sql.bind(row.failed, 'bigint'),
    sql.bind(row.retried, 'bigint'),
    sql.bind(row.waits, 'text'),
    sql.bind(row.runs, 'text'),
  ].join(', ');
}
