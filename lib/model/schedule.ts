import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** What becomes of slots that came while nobody watched: none of them fires, the newest one does, or each does. */
export type MisfirePolicy = 'skip' | 'once' | 'all';
/** What becomes of a slot while the job of the one before waits or runs: it is passed over and counted, or gets its job all the same. */
export type OverlapPolicy = 'skip' | 'queue';
/** Who made a schedule: the code, by a decorator or `declare`, or somebody at run time. */
export type ScheduleSource = 'code' | 'run time';

/** With 'all', at most so many of the newest missed slots fire; older ones are passed over. */
export const mostCatchUps = 100;

/** The job options of a schedule, as they were given: they are checked where it is made, and kept as JSON. */
export type ScheduledJobOptions = Readonly<Record<string, unknown>>;

/** A schedule, complete and checked, but for its cron expression, which takes a library to check. */
export interface ScheduleDefinition {
  readonly name: string;
  readonly type: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly misfire: MisfirePolicy;
  readonly overlap: OverlapPolicy;
  /** As JSON text; undefined where a function in the code makes it for each slot. */
  readonly payload: string | undefined;
  readonly options: ScheduledJobOptions;
  /** Two definitions are the same exactly where this is. */
  readonly fingerprint: string;
}

/** A schedule that stands in the code of this process. */
export interface DeclaredSchedule extends ScheduleDefinition {
  /** Where it stands, for messages. */
  readonly source: string;
  /** Makes the payload of a slot; undefined where it is always the same. */
  readonly makePayload: ((slot: Date) => unknown) | undefined;
}

/** What is at most as long as every database can index whole. */
const longestName = 255;
// oxlint-disable-next-line no-control-regex -- control characters are just what is looked for
const forbidden = /[\u0000-\u001f\u007f]|^\s|\s$/u;

/** @throws InvalidOptionError */
export function checkScheduleName(option: string, name: unknown): string {
  const isName = typeof name === 'string' && name !== '' && name.length <= longestName;
  if (isName && !forbidden.test(name) && name.isWellFormed()) return name;
  throw new InvalidOptionError(
    `${option} must be 1 to ${longestName} characters without control characters or white space at an end, like 'nightly_digest', got ${show(name)}`,
  );
}
