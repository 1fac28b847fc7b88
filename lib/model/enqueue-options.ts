import { checkDuration, checkInteger, checkKnownKeys, longestMs, show } from './check.js';
import { InvalidOptionError } from './errors.js';
import { mostRetries } from './queue-options.js';

/** When a job is due. */
export interface DueOptions {
  /** Milliseconds from now until the job is due. Default 0. */
  delay?: number | undefined;
  /** Moment at which the job is due: a Date or epoch milliseconds. A past one means now. Not together with `delay`. */
  runAt?: Date | number | undefined;
}

/** Options of one memory job. */
export interface SubmitOptions extends DueOptions {
  /** Retries after the first attempt. Default: what the handler says, then what the queue says. */
  maxRetries?: number | undefined;
}

/** Options of one persistent job. */
export interface EnqueueOptions extends SubmitOptions {
  /**
   * The EntityManager that `dataSource.transaction()` hands out: the job is stored in that transaction, is not seen before it
   * commits, and never existed when it rolls back. Default: that of the transaction around the call, where the queue can tell
   * (its option `transaction`, or typeorm-transactional); `null` stores the job by itself all the same.
   */
  manager?: unknown;
}

/** Enqueue options, checked. */
export interface ResolvedEnqueueOptions {
  readonly delayMs: number;
  readonly runAt: number | undefined;
  readonly maxRetries: number | undefined;
  readonly manager: unknown;
}

const submitKeys = ['delay', 'runAt', 'maxRetries'];

/** Any moment before 1980 in milliseconds is one in seconds. */
const earliestMs = 315_532_800_000;

/** @throws InvalidOptionError */
export function resolveSubmitOptions(options: unknown): ResolvedEnqueueOptions {
  return resolve(options, submitKeys);
}

/** @throws InvalidOptionError */
export function resolveEnqueueOptions(options: unknown): ResolvedEnqueueOptions {
  return resolve(options, [...submitKeys, 'manager']);
}

const nothing: ResolvedEnqueueOptions = Object.freeze({
  delayMs: 0,
  runAt: undefined,
  maxRetries: undefined,
  manager: undefined,
});

function resolve(options: unknown, keys: readonly string[]): ResolvedEnqueueOptions {
  if (options === undefined) return nothing;
  if (isEntityManager(options)) {
    throw new InvalidOptionError('the options of a job are an EntityManager; pass it as { manager }');
  }
  const { delay, runAt, maxRetries, manager } = checkKnownKeys('the options of a job', options, keys);
  if (delay !== undefined && runAt !== undefined) {
    throw new InvalidOptionError('delay and runAt exclude each other; give the one that you mean');
  }
  if (manager !== undefined && typeof manager !== 'object') {
    throw new InvalidOptionError(
      `manager must be the EntityManager of your transaction, got ${show(manager)}; pass null to store the job by itself`,
    );
  }
  return {
    delayMs: delay === undefined ? 0 : checkDuration('delay', delay),
    runAt: runAt === undefined ? undefined : checkMoment('runAt', runAt),
    maxRetries: maxRetries === undefined ? undefined : checkInteger('maxRetries', maxRetries, 0, mostRetries),
    manager,
  };
}

function isEntityManager(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'dataSource' in options && 'transaction' in options;
}

function checkMoment(option: string, moment: unknown): number {
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
