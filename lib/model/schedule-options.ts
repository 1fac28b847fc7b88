import { createHash } from 'node:crypto';
import { checkKnownKeys, checkOneOf, show } from './check.js';
import { resolveEnqueueOptions, resolveSubmitOptions, type EnqueueOptions } from './enqueue-options.js';
import { InvalidOptionError } from './errors.js';
import type { QueueKind } from './job-event.js';
import type { JobPayloads, PayloadOf } from './job-payloads.js';
import { checkJobType } from './job-type.js';
import { encodePayload } from './payload.js';
import {
  checkScheduleName,
  type DeclaredSchedule,
  type MisfirePolicy,
  type OverlapPolicy,
  type ScheduleDefinition,
} from './schedule.js';

/** The options of `enqueue` that the jobs of a schedule can have. */
export type ScheduledEnqueueOptions = Pick<
  EnqueueOptions,
  'maxRetries' | 'timeout' | 'priority' | 'queue' | 'expiresIn' | 'tags'
>;

/** How a schedule fires, and what its jobs are like. */
export interface ScheduleRules extends ScheduledEnqueueOptions {
  /** The IANA name of the zone in which the cron expression is read, like 'Europe/Berlin'. Default 'UTC'. */
  timeZone?: string | undefined;
  /**
   * What becomes of slots that came while no process watched (downtime, an outage): 'skip' fires none of them, 'once' the newest, 'all'
   * each, up to the newest 100. Default 'once'.
   */
  misfire?: MisfirePolicy | undefined;
  /**
   * What becomes of a slot while the job of the one before waits, runs, or waits for a retry: 'skip' passes it over and counts it, 'queue'
   * enqueues its job all the same. Default 'skip'; with `misfire: 'all'` it is 'queue'.
   */
  overlap?: OverlapPolicy | undefined;
}

/** What the compiler can tell to be no JSON: functions have the one symbol, and promises, maps and the like the other. */
interface Plain {
  readonly [Symbol.hasInstance]?: undefined;
  readonly [Symbol.toStringTag]?: undefined;
}

/** Any JSON value. */
export type SchedulePayload =
  string | number | boolean | null | ((object | { readonly [key: string]: unknown }) & Plain);

/** What the jobs of a schedule carry: what is declared for their type, or any JSON value, or nothing. */
type CarriedBy<T extends string> = T extends keyof JobPayloads ? PayloadOf<T> : SchedulePayload | undefined;

type Carrying<P, G> = undefined extends P ? { payload?: G | undefined } : { payload: G };

/** The payload of each job of a schedule, where it stays the same. */
type FixedPayload<T extends string> = Carrying<CarriedBy<T>, CarriedBy<T>>;
/** The payload of each job of a schedule, or a function that makes it anew for each slot, at once and not as a promise. */
export type MadePayload<T extends string> = Carrying<CarriedBy<T>, CarriedBy<T> | ((slot: Date) => CarriedBy<T>)>;

interface TypedRules<T extends string> extends ScheduleRules {
  /** The type of its jobs. */
  type: T;
  /** Five fields (minute, hour, day of month, month, day of week), or six with the seconds in front. */
  cron: string;
}

/** A schedule as it is made at run time. */
export type ScheduleOptions<T extends string = string> = TypedRules<T> & FixedPayload<T>;

/** A schedule as it is declared in code. */
export type DeclaredScheduleOptions<T extends string = string> = TypedRules<T> & MadePayload<T>;

/** What a schedule belongs to. */
export interface SchedulePlace {
  /** For messages. */
  readonly source: string;
  readonly queue: QueueKind;
  readonly maxPayloadSize: number;
}

const jobKeys = ['maxRetries', 'timeout', 'priority', 'queue', 'expiresIn', 'tags'] as const;
/** The names of all options but those that say what fires. */
export const ruleKeys: readonly string[] = ['timeZone', 'misfire', 'overlap', 'payload', ...jobKeys];
const misfires = ['skip', 'once', 'all'] as const;
const overlaps = ['skip', 'queue'] as const;

/** A schedule made at run time. @throws InvalidOptionError | InvalidJobTypeError | InvalidPayloadError | PayloadTooLargeError */
export function resolveSchedule(name: unknown, options: unknown, place: SchedulePlace): ScheduleDefinition {
  const { payload } = checkKnownKeys(place.source, options, ['type', 'cron', ...ruleKeys]);
  if (typeof payload === 'function') {
    throw new InvalidOptionError(
      `${place.source}: payload must be a JSON value, got a function, which cannot be stored; declare the schedule in code instead`,
    );
  }
  return define(name, options, { place, payload, maker: undefined });
}

/** A schedule declared in code. @throws as `resolveSchedule` does. */
export function resolveDeclared(name: unknown, options: unknown, place: SchedulePlace): DeclaredSchedule {
  const { payload } = checkKnownKeys(place.source, options, ['type', 'cron', ...ruleKeys]);
  const maker = typeof payload === 'function' ? (payload as (slot: Date) => unknown) : undefined;
  const definition = define(name, options, { place, payload: maker === undefined ? payload : undefined, maker });
  return { ...definition, source: place.source, makePayload: maker };
}

interface GivenPayload {
  readonly place: SchedulePlace;
  readonly payload: unknown;
  readonly maker: ((slot: Date) => unknown) | undefined;
}

function define(name: unknown, options: unknown, { place, payload, maker }: GivenPayload): ScheduleDefinition {
  const { source, queue, maxPayloadSize } = place;
  const given = options as Readonly<Record<string, unknown>>;
  const misfire =
    given['misfire'] === undefined ? 'once' : checkOneOf(`${source}: misfire`, given['misfire'], misfires);
  const unasked = misfire === 'all' ? 'queue' : 'skip';
  const rules = {
    type: checkJobType(given['type']),
    cron: checkText(`${source}: cron`, given['cron']),
    timeZone: given['timeZone'] === undefined ? 'UTC' : checkText(`${source}: timeZone`, given['timeZone']),
    misfire,
    overlap: given['overlap'] === undefined ? unasked : checkOneOf(`${source}: overlap`, given['overlap'], overlaps),
    payload: maker === undefined ? encodePayload(payload, maxPayloadSize) : undefined,
    options: jobOptionsOf(given, queue),
  };
  const made = maker === undefined ? undefined : String(maker);
  return { name: checkScheduleName(`${source}: name`, name), ...rules, fingerprint: fingerprintOf([rules, made]) };
}

function jobOptionsOf(given: Readonly<Record<string, unknown>>, queue: QueueKind): Readonly<Record<string, unknown>> {
  const present = jobKeys.filter((key) => given[key] !== undefined).map((key) => [key, given[key]] as const);
  const options = Object.fromEntries(present);
  if (queue === 'memory') resolveSubmitOptions(options);
  else resolveEnqueueOptions(options);
  return options;
}

function checkText(option: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 255) return value;
  throw new InvalidOptionError(`${option} must be a text of at most 255 characters, got ${show(value)}`);
}

/** A function counts as the same as long as its text is. */
function fingerprintOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
