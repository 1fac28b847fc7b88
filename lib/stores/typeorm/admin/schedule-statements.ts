import { JobState } from '../../../model/job-state.js';
import type { ScheduleDefinition, ScheduleSource } from '../../../model/schedule.js';
import type { DeclareRequest, SlotStep } from '../../schedule-store.js';
import type { AdminWords } from './admin-words.js';
import type { SqlText, TextMaker } from './sql-text.js';

const { Pending, Running } = JobState;
const inCode: ScheduleSource = 'code';
/** Code that nobody has run for a week is gone; until then its schedule keeps its place, so that a long outage loses no slot. */
const forgottenAfterMs = 7 * 86_400_000;

export const lookStatement: TextMaker = (sql) => `
  SELECT s.*, ${sql.now()} AS now,
    CASE WHEN j.status IN ('${Pending}', '${Running}') THEN 1 ELSE 0 END AS is_busy
  FROM ${sql.schedules} AS s
  LEFT JOIN ${sql.table} AS j ON j.id = s.last_job_id
  ORDER BY s.name`;

/** Deletes what the code does not have any more. To be run before the schedules that it has are written. */
export function forgetStatement({ schedules, scope }: DeclareRequest): TextMaker {
  const names = schedules.map(({ name }) => name);
  const types = scope === 'some' ? [] : scope.handledTypes;
  return (sql) => {
    const isMissing = names.length === 0 ? '1 = 1' : `name NOT IN (${bindAll(sql, names)})`;
    const reasons = [
      ...(types.length === 0 ? [] : [`job_type IN (${bindAll(sql, types)})`]),
      // MySQL reads the table that it deletes from only in a table derived from it.
      ...(names.length === 0
        ? []
        : [
            `generation IN (SELECT g.generation FROM (
              SELECT generation FROM ${sql.schedules} WHERE source = '${inCode}' AND name IN (${bindAll(sql, names)})
            ) AS g)`,
          ]),
      `seen_at < ${sql.now()} - ${forgottenAfterMs}`,
    ];
    return `DELETE FROM ${sql.schedules} WHERE source = '${inCode}' AND ${isMissing} AND (${reasons.join(' OR ')})`;
  };
}

export interface PutRequest {
  readonly definition: ScheduleDefinition;
  readonly source: ScheduleSource;
  readonly generation: string;
}

/** Makes a schedule, or makes it another one. With other times it begins now: the new times say nothing of what was before. */
export function putStatement(words: AdminWords, { definition, source, generation }: PutRequest): TextMaker {
  const { name, type, cron, timeZone, misfire, overlap, payload, options, fingerprint } = definition;
  const texts = {
    name,
    source,
    job_type: type,
    cron,
    time_zone: timeZone,
    misfire,
    overlap,
    payload: payload ?? null,
    job_options: JSON.stringify(options),
    fingerprint,
    generation,
  };
  const { existing, incoming } = words;
  const isKept = ['cron', 'time_zone'].map((column) => `${existing(column)} = ${incoming(column)}`).join(' AND ');
  const changed = [...Object.keys(texts).slice(1), 'seen_at'].map((column) => `${column} = ${incoming(column)}`);
  // What somebody made at run time must not take the place of code that was declared meanwhile.
  const mayChange = source === inCode ? undefined : `${existing('source')} <> '${inCode}'`;
  return (sql) => `
    INSERT INTO ${sql.schedules} ${words.asExisting} (${Object.keys(texts).join(', ')}, done_until, seen_at, created_at)
    VALUES (${bindAll(sql, Object.values(texts))}, ${sql.now()}, ${sql.now()}, ${sql.now()})
    ${words.onTaken('name')} ${words.changes(
      [
        `done_until = CASE WHEN ${isKept} OR ${existing('done_until')} > ${incoming('done_until')} ` +
          `THEN ${existing('done_until')} ELSE ${incoming('done_until')} END`,
        ...changed,
      ],
      mayChange,
    )}`;
}

/** @param silentMs How long ago it was that the process said so. */
export function seenStatement(generation: string, silentMs: number): TextMaker {
  return (sql) => `
    UPDATE ${sql.schedules} SET seen_at = ${sql.now()} - ${bindMoment(sql, silentMs)}
    WHERE source = '${inCode}' AND generation = ${sql.bind(generation, 'text')}`;
}

/** Takes the slot from where it was seen; it is there no more where somebody else has done so, or the schedule is another one. */
export function takeStatement({ schedule, from, to }: SlotStep, jobId: string): TextMaker {
  return (sql) => `
    UPDATE ${sql.schedules}
    SET done_until = ${bindMoment(sql, to)}, last_slot = ${bindMoment(sql, to)}, last_job_id = ${sql.bind(jobId, 'uuid')}
    WHERE ${isAsSeen(sql, schedule)} AND is_paused = 0 AND done_until = ${bindMoment(sql, from)}`;
}

export function passStatement({ schedule, from, to }: SlotStep, count: number): TextMaker {
  return (sql) => `
    UPDATE ${sql.schedules}
    SET done_until = ${bindMoment(sql, to)}, skipped = skipped + ${sql.bind(count, 'integer')}
    WHERE ${isAsSeen(sql, schedule)} AND is_paused = 0 AND done_until = ${bindMoment(sql, from)}`;
}

/** Says which job was its last one. */
export function lastJobStatement(schedule: Pick<ScheduleDefinition, 'name' | 'fingerprint'>, jobId: string): TextMaker {
  return (sql) => `
    UPDATE ${sql.schedules} SET last_job_id = ${sql.bind(jobId, 'uuid')} WHERE ${isAsSeen(sql, schedule)}`;
}

export function pauseStatement(name: string): TextMaker {
  return (sql) => `UPDATE ${sql.schedules} SET is_paused = 1 WHERE name = ${sql.bind(name, 'text')} AND is_paused = 0`;
}

export function resumeStatement(name: string): TextMaker {
  return (sql) => `
    UPDATE ${sql.schedules}
    SET is_paused = 0, done_until = CASE WHEN done_until > ${sql.now()} THEN done_until ELSE ${sql.now()} END
    WHERE name = ${sql.bind(name, 'text')} AND is_paused = 1`;
}

export function removeStatement(name: string): TextMaker {
  return (sql) => `DELETE FROM ${sql.schedules} WHERE name = ${sql.bind(name, 'text')} AND source <> '${inCode}'`;
}

function isAsSeen(sql: SqlText, { name, fingerprint }: Pick<ScheduleDefinition, 'name' | 'fingerprint'>): string {
  return `name = ${sql.bind(name, 'text')} AND fingerprint = ${sql.bind(fingerprint, 'text')}`;
}

function bindAll(sql: SqlText, values: readonly (string | null)[]): string {
  return values.map((value) => sql.bind(value, 'text')).join(', ');
}

function bindMoment(sql: SqlText, ms: number): string {
  return sql.bind(ms, 'bigint');
}
