import { checkInteger, checkKnownKeys, checkOneOf, show } from '../model/check.js';
import { checkMoment, resolveSubmitOptions, type DueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError } from '../model/errors.js';
import { toJobId } from '../model/job-id.js';
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
  /** The queue that they wait in, or waited in, exactly. */
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
  /** Over (failed, cancelled or completed) since this moment or later: a Date or epoch milliseconds. */
  finishedFrom?: Date | number | undefined;
  /** Over since before this moment: a Date or epoch milliseconds. */
  finishedBefore?: Date | number | undefined;
  /** Members of this batch or chain, by its id. */
  batch?: string | undefined;
  /** Their `lastError` contains this text, upper and lower case told apart. */
  error?: string | undefined;
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

/** Options of `JobsAdmin.retryMany`. */
export interface RetryManyOptions extends BulkOptions {
  /** At the most so many of them become due in a second: 1 to 10 000. Default: all of them are due at once. */
  perSecond?: number | undefined;
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
const filterKeys = [
  'state',
  'type',
  'createdFrom',
  'createdBefore',
  'finishedFrom',
  'finishedBefore',
  ...groupKeys,
  'batch',
  'error',
];
const longestErrorText = 1_000;
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

/** @throws InvalidOptionError */
export function resolveRetryOptions(options: unknown = {}): { limit: number; perSecond: number | undefined } {
  const { perSecond, ...rest } = checkKnownKeys('the options of retryMany', options, ['limit', 'perSecond']);
  return {
    limit: resolveBulkOptions(rest),
    perSecond: perSecond === undefined ? undefined : checkInteger('perSecond', perSecond, 1, 10_000),
  };
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
  const read = <T>(name: string, check: (name: string, value: unknown) => T): T | undefined =>
    given[name] === undefined ? undefined : check(name, given[name]);
  return {
    ...resolveGroup(given),
    state: read('state', (name, state) => checkOneOf(name, state, allowed)),
    type: read('type', (_name, type) => checkJobType(type)),
    createdFrom: read('createdFrom', checkMoment),
    createdBefore: read('createdBefore', checkMoment),
    finishedFrom: read('finishedFrom', checkMoment),
    finishedBefore: read('finishedBefore', checkMoment),
    batch: read('batch', checkBatchId),
    error: read('error', checkErrorText),
  };
}

function resolveGroup({ queue, tag }: Record<string, unknown>): JobGroup {
  return {
    ...(queue === undefined ? {} : { queue: checkQueueName('queue', queue) }),
    ...(tag === undefined ? {} : { tag: checkWantedTag('tag', tag) }),
  };
}

function checkBatchId(name: string, value: unknown): string {
  const id = typeof value === 'string' ? toJobId(value) : undefined;
  if (id !== undefined) return id;
  throw new InvalidOptionError(`${name} must be the id of a batch, as enqueueBatch returns it, got ${show(value)}`);
}

function checkErrorText(name: string, value: unknown): string {
  const isText = typeof value === 'string' && value !== '' && !value.includes('\0');
  if (isText && value.length <= longestErrorText) return value;
  throw new InvalidOptionError(
    `${name} must be a text of 1 to ${longestErrorText} characters that errors contain, got ${show(value)}`,
  );
}

function resolveWish(payload: unknown = false): PayloadWish {
  return checkOneOf('payload', payload, [true, false]) ? 'with payload' : 'without payload';
}
