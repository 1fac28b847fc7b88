import { checkDuration, checkInteger, checkKnownKeys, longestMs, show } from './check.js';
import {
  resolveUniqueOptions,
  type ResolvedUniqueOptions,
  type ThrottleOptions,
  type UniqueOptions,
} from './duplicates.js';
import { InvalidOptionError } from './errors.js';
import { mostRetries } from './handler-policy.js';
import { checkPriority } from './priority.js';
import { checkQueueName } from './queue-name.js';
import { checkTags } from './tags.js';
import { checkKey } from './unique-key.js';

/** When a job is due. */
export interface DueOptions {
  /** Milliseconds from now until the job is due. Default 0. */
  delay?: number | undefined;
  /** Moment at which the job is due: a Date or epoch milliseconds. A past one means now. Not together with `delay`. */
  runAt?: Date | number | undefined;
}

/** Until when a job may start. */
export interface ExpiryOptions {
  /** Milliseconds from now after which no attempt starts any more: the job ends failed, with 'expired' as its error. Default: never. */
  expiresIn?: number | undefined;
  /** The same as a moment: a Date or epoch milliseconds. Not together with `expiresIn`. */
  expiresAt?: Date | number | undefined;
}

/** Options of one memory job. */
export interface SubmitOptions extends DueOptions, ExpiryOptions, UniqueOptions {
  /** Retries after the first attempt. Default: what the handler says, then what the queue says. */
  maxRetries?: number | undefined;
  /** Of two jobs that are due, the one with the LOWER number runs first, however old the other is. From -100 to 100. Default: what the handler says, then 0. */
  priority?: number | undefined;
  /**
   * The jobs of one type with the same key run one at a time, in all processes together, and in the order in which they are due; one that
   * waits for a retry holds up the others. 1 to 255 characters. `null`: none, whatever the handler says. Default: what the handler says, then none.
   */
  key?: string | null | undefined;
  /** Up to 16 strings of up to 64 characters, which the handler finds in `job.tags`. Default none. */
  tags?: readonly string[] | undefined;
  /** An attempt that takes longer than this many milliseconds counts as failed; 0 means no limit. Default as for `maxRetries`. */
  timeout?: number | undefined;
}

/** Options of one persistent job. */
export interface EnqueueOptions extends SubmitOptions {
  /** The queue it waits in; the option `queues` says who works on it. Default: what the handler says, then 'default'. */
  queue?: string | undefined;
  /**
   * The EntityManager that `dataSource.transaction()` hands out: the job is stored in that transaction, is not seen before it
   * commits, and never existed when it rolls back. Default: that of the transaction around the call, where the queue can tell
   * (its option `transaction`, or typeorm-transactional); `null` stores the job by itself all the same.
   */
  manager?: unknown;
  /** At most one job per window, also when the one before is over. Not together with `uniqueKey`. Default: no limit. */
  throttle?: ThrottleOptions | undefined;
}

/** Enqueue options, checked. */
export interface ResolvedEnqueueOptions extends ResolvedUniqueOptions {
  readonly delayMs: number;
  readonly runAt: number | undefined;
  readonly maxRetries: number | undefined;
  readonly priority: number | undefined;
  readonly queue: string | undefined;
  readonly expiresInMs: number | undefined;
  readonly expiresAt: number | undefined;
  readonly tags: readonly string[] | undefined;
  /** `null`: none, whatever the handler says. */
  readonly key: string | null | undefined;
  readonly timeoutMs: number | undefined;
  readonly manager: unknown;
}

const submitKeys = [
  'delay',
  'runAt',
  'maxRetries',
  'timeout',
  'priority',
  'expiresIn',
  'expiresAt',
  'uniqueKey',
  'onDuplicate',
  'tags',
  'key',
];

/** Any moment before 1980 in milliseconds is one in seconds. */
const earliestMs = 315_532_800_000;

/** @throws InvalidOptionError */
export function resolveSubmitOptions(options: unknown): ResolvedEnqueueOptions {
  return resolve(options, submitKeys);
}

/** @throws InvalidOptionError */
export function resolveEnqueueOptions(options: unknown): ResolvedEnqueueOptions {
  return resolve(options, [...submitKeys, 'throttle', 'queue', 'manager']);
}

const nothing: ResolvedEnqueueOptions = Object.freeze({
  delayMs: 0,
  runAt: undefined,
  maxRetries: undefined,
  priority: undefined,
  queue: undefined,
  expiresInMs: undefined,
  expiresAt: undefined,
  uniqueKey: undefined,
  onDuplicate: undefined,
  throttle: undefined,
  tags: undefined,
  key: undefined,
  timeoutMs: undefined,
  manager: undefined,
});

function resolve(options: unknown, keys: readonly string[]): ResolvedEnqueueOptions {
  if (options === undefined || isEmpty(options)) return nothing;
  if (isEntityManager(options)) {
    throw new InvalidOptionError('the options of a job are an EntityManager; pass it as { manager }');
  }
  const given = checkKnownKeys('the options of a job', options, keys);
  const { maxRetries, timeout, priority, queue, tags, key, manager } = given;
  if (manager !== undefined && typeof manager !== 'object') {
    throw new InvalidOptionError(
      `manager must be the EntityManager of your transaction, got ${show(manager)}; pass null to store the job by itself`,
    );
  }
  return {
    ...resolveTimes(given),
    maxRetries: maxRetries === undefined ? undefined : checkInteger('maxRetries', maxRetries, 0, mostRetries),
    priority: priority === undefined ? undefined : checkPriority('priority', priority),
    queue: queue === undefined ? undefined : checkQueueName('queue', queue),
    ...resolveUniqueOptions(given),
    key: key === undefined || key === null ? key : checkKey('key', key),
    tags: tags === undefined ? undefined : checkTags('tags', tags),
    timeoutMs: timeout === undefined ? undefined : checkDuration('timeout', timeout),
    manager,
  };
}

type Times = Pick<ResolvedEnqueueOptions, 'delayMs' | 'runAt' | 'expiresInMs' | 'expiresAt'>;

function resolveTimes({ delay, runAt, expiresIn, expiresAt }: Readonly<Record<string, unknown>>): Times {
  if (delay !== undefined && runAt !== undefined) {
    throw new InvalidOptionError('delay and runAt exclude each other; give the one that you mean');
  }
  if (expiresIn !== undefined && expiresAt !== undefined) {
    throw new InvalidOptionError('expiresIn and expiresAt exclude each other; give the one that you mean');
  }
  const times = {
    delayMs: delay === undefined ? 0 : checkDuration('delay', delay),
    runAt: runAt === undefined ? undefined : checkMoment('runAt', runAt),
    expiresInMs: expiresIn === undefined ? undefined : checkDuration('expiresIn', expiresIn, 1),
    expiresAt: expiresAt === undefined ? undefined : checkMoment('expiresAt', expiresAt),
  };
  refuseStillborn(times);
  return times;
}

/** A job that expires before it is due could never run. Only what is measured alike is compared: clocks differ. */
function refuseStillborn({ delayMs, runAt, expiresInMs, expiresAt }: Times): void {
  const isTooSoon =
    runAt === undefined ? expiresInMs !== undefined && expiresInMs <= delayMs : (expiresAt ?? Infinity) <= runAt;
  if (!isTooSoon) return;
  throw new InvalidOptionError(
    runAt === undefined
      ? `expiresIn must be longer than delay, got ${expiresInMs} and ${delayMs}; the job could never run`
      : `expiresAt must be after runAt, got ${expiresAt} and ${runAt}; the job could never run`,
  );
}

/** `enqueueMany` takes the options out of each request; most have none. */
function isEmpty(options: unknown): boolean {
  const isPlain =
    typeof options === 'object' && options !== null && Object.getPrototypeOf(options) === Object.prototype;
  return isPlain && Object.keys(options).length === 0;
}

function isEntityManager(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'dataSource' in options && 'transaction' in options;
}

/** A moment in epoch milliseconds. @throws InvalidOptionError */
export function checkMoment(option: string, moment: unknown): number {
  const ms = moment instanceof Date ? moment.getTime() : moment;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms > Date.now() + longestMs) {
    throw new InvalidOptionError(`${option} must be a Date or epoch milliseconds, got ${show(moment)}`);
  }
  if (!(moment instanceof Date) && ms < earliestMs) {
    throw new InvalidOptionError(
      `${option} looks like seconds, got ${show(moment)}; give epoch milliseconds or a Date`,
    );
  }
  return Math.max(0, Math.ceil(ms));
}
