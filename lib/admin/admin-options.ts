import { checkInteger, checkKnownKeys, checkOneOf } from '../model/check.js';
import { checkMoment, resolveSubmitOptions, type DueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError } from '../model/errors.js';
import { JobState } from '../model/job-state.js';
import { checkJobType } from '../model/job-type.js';
import { encodePayload } from '../model/payload.js';
import { mostRetries } from '../model/handler-policy.js';
import { checkQueueName } from '../model/queue-name.js';
import { checkWantedTag } from '../model/tags.js';
import type { JobEdit, JobFilter, JobGroup, PageRequest, PayloadWish } from '../stores/job-queries.js';
import { fromCursor } from './page-cursor.js';

/** Jobs that belong together; what is left out does not matter. */
export interface JobGroupOptions {
  /** The queue that they wait in, exactly. */
  queue?: string | undefined;
  /** A tag that they have, exactly; they may have others too. */
  tag?: string | undefined;
}

/** Which jobs are meant; what is left out does not matter. */
export interface JobFilterOptions extends JobGroupOptions {
  /** The state that they are in. */
  state?: JobState | undefined;
  /** Their job type, exactly. */
  type?: string | undefined;
  /** Stored at this moment or later: a Date or epoch milliseconds. */
  createdFrom?: Date | number | undefined;
  /** Stored before this moment: a Date or epoch milliseconds. */
  createdBefore?: Date | number | undefined;
}

/** What may be read of jobs. */
export interface ReadOptions {
  /** Whether to read the payloads, which may be private and large. Default false. */
  payload?: boolean | undefined;
}

/** Options of `JobsAdmin.list`. */
export interface ListOptions extends JobFilterOptions, ReadOptions {
  /** Jobs on a page: 1 to 1 000, with payloads to 100. Default 50. */
  limit?: number | undefined;
  /** The `next` of the page before this one. */
  after?: string | undefined;
}

/** Options of `JobsAdmin.counts`. */
export interface CountOptions extends JobGroupOptions {
  /** How far the jobs of one type in one state are counted. Default 10 000, at most 1 000 000. */
  upTo?: number | undefined;
}

/** Options of `cancelMany`, `retryMany` and `deleteMany`. */
export interface BulkOptions {
  /** The most jobs that are changed. Default 10 000, at most 1 000 000. */
  limit?: number | undefined;
}

/** What `JobsAdmin.update` changes of a waiting job; what is left out stays. */
export interface JobChanges {
  /** The new payload, as for `enqueue`. */
  payload?: unknown;
  /** Retries after the first attempt. Attempts that have failed count. */
  maxRetries?: number | undefined;
}

const states = Object.values(JobState);
const groupKeys = ['queue', 'tag'];
const filterKeys = ['state', 'type', ...groupKeys, 'createdFrom', 'createdBefore'];
const longestPage = 1_000;
const longestPageWithPayloads = 100;

/** @throws InvalidOptionError | InvalidJobTypeError */
export function resolveListOptions(options: unknown = {}): PageRequest {
  const given = checkKnownKeys('the options of list', options, [...filterKeys, 'payload', 'limit', 'after']);
  const filter = resolveFilter(given, states);
  const payload = resolveWish(given['payload']);
  const most = payload === 'with payload' ? longestPageWithPayloads : longestPage;
  return {
    filter,
    payload,
    limit: checkInteger('limit', given['limit'] ?? 50, 1, most),
    after: given['after'] === undefined ? undefined : fromCursor(filter.state, given['after']),
  };
}

/** @throws InvalidOptionError */
export function resolveReadOptions(options: unknown = {}): PayloadWish {
  return resolveWish(checkKnownKeys('the options of find', options, ['payload'])['payload']);
}

/** @throws InvalidOptionError */
export function resolveCountOptions(options: unknown = {}): { readonly most: number; readonly group: JobGroup } {
  const given = checkKnownKeys('the options of counts', options, ['upTo', ...groupKeys]);
  return { most: checkInteger('upTo', given['upTo'] ?? 10_000, 1, 1_000_000), group: resolveGroup(given) };
}

/** @throws InvalidOptionError */
export function resolveBulkOptions(options: unknown = {}): number {
  const { limit } = checkKnownKeys('the options of a bulk action', options, ['limit']);
  return checkInteger('limit', limit ?? 10_000, 1, 1_000_000);
}

/**
 * @param allowed The states in which the action is legal.
 * @throws InvalidOptionError | InvalidJobTypeError
 */
export function resolveBulkFilter(filter: unknown, allowed: readonly JobState[]): JobFilter {
  return resolveFilter(checkKnownKeys('the filter', filter, filterKeys), allowed);
}

/** @throws InvalidOptionError unless it says when, and in one way only. */
export function resolveDue(options: unknown): JobEdit {
  const due: DueOptions = checkKnownKeys('the options of reschedule', options, ['delay', 'runAt']);
  if (due.delay === undefined && due.runAt === undefined) {
    throw new InvalidOptionError('reschedule needs delay or runAt: milliseconds from now, or a Date');
  }
  const { delayMs, runAt } = resolveSubmitOptions(due);
  return runAt === undefined ? { delayMs } : { runAt };
}

/** @throws InvalidOptionError | InvalidPayloadError | PayloadTooLargeError */
export function resolveChanges(changes: unknown, maxPayloadSize: number): JobEdit {
  const given = checkKnownKeys('the changes of update', changes, ['payload', 'maxRetries']);
  const { payload, maxRetries } = given;
  const hasPayload = Object.hasOwn(given, 'payload');
  if (!hasPayload && maxRetries === undefined) {
    throw new InvalidOptionError('update needs something to change: payload or maxRetries');
  }
  return {
    payload: hasPayload ? encodePayload(payload, maxPayloadSize) : undefined,
    maxRetries: maxRetries === undefined ? undefined : checkInteger('maxRetries', maxRetries, 0, mostRetries),
  };
}

function resolveFilter(given: Record<string, unknown>, allowed: readonly JobState[]): JobFilter {
  const { state, type, createdFrom, createdBefore } = given;
  return {
    ...resolveGroup(given),
    state: state === undefined ? undefined : checkOneOf('state', state, allowed),
    type: type === undefined ? undefined : checkJobType(type),
    createdFrom: createdFrom === undefined ? undefined : checkMoment('createdFrom', createdFrom),
    createdBefore: createdBefore === undefined ? undefined : checkMoment('createdBefore', createdBefore),
  };
}

function resolveGroup({ queue, tag }: Record<string, unknown>): JobGroup {
  return {
    ...(queue === undefined ? {} : { queue: checkQueueName('queue', queue) }),
    ...(tag === undefined ? {} : { tag: checkWantedTag('tag', tag) }),
  };
}

function resolveWish(payload: unknown = false): PayloadWish {
  return checkOneOf('payload', payload, [true, false]) ? 'with payload' : 'without payload';
}
