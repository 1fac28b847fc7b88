import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest } from '../../job-store.js';
import type { ClaimTables } from '../admin/sql-text.js';
import { pausesType } from '../slot.js';
import type { Row } from '../job-row.js';
import type { Steps } from '../stream-chart.js';
import { capOf, toStream, type Stream } from '../streams.js';
import type { SqlNames } from '../table-name.js';
import { inList, mysqlNowMs, powerOfTwo, type MysqlStatement } from './mysql-statements.js';

const { Pending } = JobState;

/** Which jobs to try for, and how many. */
export interface Candidature {
  readonly streams: readonly Stream[];
  /** How many at the most of some types. */
  readonly caps?: ClaimRequest['caps'];
  readonly limit: number;
  readonly mostInterruptions?: number | undefined;
  readonly keys?: ClaimRequest['keys'];
}

/**
 * The jobs that are due, without a lock and without their payloads: the ids to try for. Each stream is looked up on its own in the
 * index, so that jobs of others, and those that are not due yet, cost nothing however many lie in front.
 */
export function candidatesStatement(table: string, candidature: Candidature): MysqlStatement {
  const { streams, limit, mostInterruptions, caps, keys } = candidature;
  const most = powerOfTwo(limit);
  const keyless = keys === 'none' ? ' AND job_key IS NULL' : '';
  const spared = mostInterruptions === undefined ? keyless : `${keyless} AND interruptions <= ?`;
  const ofStream = ({ type }: Stream): string => `(SELECT id, priority, next_run_at FROM ${table}
    WHERE status = '${Pending}' AND job_type = ? AND queue = ? AND priority = ? AND next_run_at <= ${mysqlNowMs}${spared}
    ORDER BY next_run_at, id LIMIT ${Math.min(most, capOf(caps, type) ?? most)})`;
  const last = mostInterruptions === undefined ? [] : [mostInterruptions];
  return {
    text: `${streams.map(ofStream).join(' UNION ALL ')} ORDER BY priority, next_run_at, id LIMIT ${most}`,
    values: streams.flatMap(({ type, queue, priority }) => [type, queue, priority, ...last]),
  };
}

/**
 * The streams that have pending jobs, due or not, and what is paused. The server steps through the index from one stream to the next: it looks
 * at one entry of each, not at one for each job; were it not to group by the first column as well, it would read all of a single type.
 */
export function streamsStatement(names: ClaimTables, types: readonly string[] | undefined): MysqlStatement {
  const { table } = names;
  const list = inList(types ?? []);
  const chosen = types === undefined ? '' : ` AND job_type IN (${list.marks})`;
  return {
    text: `SELECT job_type, queue, priority, NULL AS slot FROM ${table} WHERE status = '${Pending}'${chosen}
      GROUP BY status, job_type, queue, priority
      UNION ALL
      SELECT ${pausesOf(names)}`,
    values: types === undefined ? [] : list.values,
  };
}

/**
 * The next stream behind each of these, of its type, and what is paused. Two steps in the index for each: to the next priority of its queue, and
 * to the next queue. There are not many lengths of the text, so that few are prepared.
 */
export function nextStreamsStatement(names: SqlNames, marks: readonly Stream[]): MysqlStatement {
  const step = (rest: string): string =>
    `(SELECT ? AS place, job_type, queue, priority, NULL AS slot FROM ${names.table} FORCE INDEX (${names.index('pending')})
    WHERE status = '${Pending}' AND job_type = ? AND ${rest} LIMIT 1)`;
  const next = [step('queue = ? AND priority > ? ORDER BY priority'), step('queue > ? ORDER BY queue, priority')];
  const count = powerOfTwo(marks.length);
  const filled = Array.from({ length: count }, (_unused, place) => Math.min(place, marks.length - 1));
  return {
    text: [...filled.flatMap(() => next), `SELECT NULL AS place, ${pausesOf(names)}`].join('\nUNION ALL '),
    values: filled.flatMap((place) => {
      const { type, queue, priority } = marks[place] as Stream;
      return [String(place), type, queue, priority, String(place), type, queue];
    }),
  };
}

/** Of the two steps that were possible from a mark, the first in the order of the index. */
export function toSteps(marks: readonly Stream[], rows: readonly Row[]): Steps {
  const steps = new Map<Stream, Stream | undefined>(marks.map((mark) => [mark, undefined]));
  for (const row of rows) {
    const mark = marks[Number(row['place'])] as Stream;
    const next = toStream(row);
    if (steps.get(mark) === undefined || next.queue === mark.queue) steps.set(mark, next);
  }
  return steps;
}

/** What is paused, in the shape of streams. */
function pausesOf({ slots }: ClaimTables): string {
  return `NULL AS job_type, NULL AS queue, NULL AS priority, slot FROM ${slots} WHERE job_type = '${pausesType}'`;
}
