import { mostDueSeen } from '../../key-line.js';
import { pausesType } from '../slot.js';
import type { Stream } from '../streams.js';
import type { SqlNames } from '../table-name.js';
import { inList, mysqlNowMs, type MysqlStatement } from './mysql-statements.js';
import { JobState } from '../../../model/job-state.js';

/** The keys of the jobs that have been due for the longest time, in these streams. */
export function dueKeysStatement(table: string, streams: readonly Stream[]): MysqlStatement {
  const ofStream = `(SELECT job_key FROM ${table}
    WHERE status = '${JobState.Pending}' AND job_type = ? AND queue = ? AND priority = ? AND next_run_at <= ${mysqlNowMs}
    ORDER BY next_run_at, id LIMIT ${mostDueSeen})`;
  return {
    text: `${streams.map(() => ofStream).join(' UNION ALL ')} LIMIT ${mostDueSeen}`,
    values: streams.flatMap(({ type, queue, priority }) => [type, queue, priority]),
  };
}

/** How many entries one step through the index of keys reads. */
export const entriesInStep = 64;

/**
 * The next entries in the index of keys. Those of one key follow each other, so the step that begins behind a key passes all of them; the server's own way
 * to step from one to the next (`DISTINCT`) is taken only where it believes that keys have many jobs.
 */
export function keysStatement(names: SqlNames, type: string, after: string): MysqlStatement {
  // No key begins with white space, and the character behind the line break ends what belongs to the type.
  return {
    text: `SELECT line_key FROM ${inLine(names)} WHERE line_key > ? AND line_key < ?
      ORDER BY line_key LIMIT ${entriesInStep}`,
    values: [after, `${type}\u000b`],
  };
}

/** How many keys one statement looks at. */
export const mostKeysNamed = 64;

/** The job that stands first of each key, due or not: one entry of the index each, however many jobs the key has. */
export function firstOfKeysStatement(names: SqlNames, lineKeys: readonly string[]): MysqlStatement {
  const { values } = inList(lineKeys);
  const first = `(SELECT line_key, job_key, id, queue, interruptions, line_phase, next_run_at <= ${mysqlNowMs} AS is_due
    FROM ${inLine(names)} WHERE line_key = ?
    ORDER BY line_phase, next_run_at, id LIMIT 1)`;
  return { text: values.map(() => first).join(' UNION ALL '), values };
}

/** Those of these keys of which a job that was started before waits for its time. */
export function waitingKeysStatement(names: SqlNames, lineKeys: readonly string[]): MysqlStatement {
  const { values } = inList(lineKeys);
  const waiting = `(SELECT line_key FROM ${inLine(names)}
    WHERE line_key = ? AND line_phase = 1 AND next_run_at > ${mysqlNowMs} LIMIT 1)`;
  return { text: values.map(() => waiting).join(' UNION ALL '), values };
}

export function pausesStatement(slots: string): MysqlStatement {
  return { text: `SELECT slot FROM ${slots} WHERE job_type = '${pausesType}'`, values: [] };
}

function inLine(names: SqlNames): string {
  return `${names.table} FORCE INDEX (${names.index('keyed')})`;
}
