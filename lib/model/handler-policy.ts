import { checkDuration, checkFunction, checkInteger, checkKnownKeys } from './check.js';
import { checkJobType } from './job-type.js';
import type { PayloadCheck } from './payload-check.js';
import { checkPriority } from './priority.js';
import { checkQueueName } from './queue-name.js';
import { resolveRateLimit, type RateLimit, type RateLimitOptions } from './rate-limit.js';
import { resolveRetention, type Retention, type RetentionOptions } from './retention.js';
import { resolveBackoff, type Backoff, type BackoffFunction, type BackoffOptions } from './retry-policy.js';

/** Most retries that a job may have. */
export const mostRetries = 10_000;

/** What can be said of the jobs of one type: by `@JobHandler`, by `register`, and by the option `handlers` of a queue. */
export interface HandlerPolicyOptions {
  /** Retries after the first attempt. A job's own `maxRetries`, given to `enqueue`, wins over it. */
  maxRetries?: number | undefined;
  /** How long to wait between attempts; what it leaves out has the defaults of the library. */
  backoff?: BackoffOptions | BackoffFunction | undefined;
  /** An attempt that takes longer than this many milliseconds counts as failed. 0 means no limit. */
  timeout?: number | undefined;
  /** Of jobs that are due the one with the lower number runs first. From -100 to 100. A job's own `priority` wins over it. Default 0. */
  priority?: number | undefined;
  /** The queue that its persistent jobs wait in. A job's own `queue` wins over it. Default 'default'. */
  queue?: string | undefined;
  /** At the most so many of these jobs run at the same time in one process, whatever workers are free. Default: no limit of their own. */
  concurrency?: number | undefined;
  /** At the most so many of these jobs run at the same time in all processes together. Default: no limit. */
  globalConcurrency?: number | undefined;
  /** At the most so many of these jobs start in any window of this length, in all processes together. Default: no limit. */
  rateLimit?: RateLimitOptions | undefined;
  /**
   * Makes the `key` of a job from its payload: the jobs with the same one run one after the other, in the order in which they are due. `undefined` means
   * none. Asked by `enqueue` in processes that know this; a job's own `key` wins over it. Must always make the same key of the same payload.
   */
  key?(payload: unknown): string | undefined;
  /** How long the rows of these jobs are kept when they are over. The memory queue has no rows and does not heed it. */
  retention?: RetentionOptions | undefined;
}

/** The same, checked. What is left out, the queue decides. */
export interface HandlerPolicy {
  readonly maxRetries?: number | undefined;
  readonly backoff?: Backoff | undefined;
  /** Milliseconds after which an attempt counts as failed. */
  readonly timeout?: number | undefined;
  readonly priority?: number | undefined;
  readonly queue?: string | undefined;
  readonly concurrency?: number | undefined;
  readonly globalConcurrency?: number | undefined;
  readonly rateLimit?: RateLimit | undefined;
  readonly retention?: Retention | undefined;
  /** Whether it runs in a transaction whose commit completes the job. */
  readonly transactional?: boolean | undefined;
  readonly key?: ((payload: unknown) => unknown) | undefined;
  /** What payloads must fit. */
  readonly schema?: PayloadCheck | undefined;
  /** The key of the jobs that are enqueued where this handler is known. */
  readonly uniqueKey?: ((payload: unknown) => unknown) | undefined;
}

const checks: Readonly<Record<keyof HandlerPolicyOptions, (name: string, value: unknown) => unknown>> = {
  maxRetries: (name, value) => checkInteger(name, value, 0, mostRetries),
  backoff: (name, value) => resolveBackoff(value, name),
  timeout: (name, value) => checkDuration(name, value),
  priority: checkPriority,
  queue: checkQueueName,
  concurrency: (name, value) => checkInteger(name, value, 1, 10_000),
  globalConcurrency: (name, value) => checkInteger(name, value, 1, 10_000),
  rateLimit: resolveRateLimit,
  key: checkFunction,
  retention: resolveRetention,
};

/** The names of the options. */
export const policyKeys = Object.keys(checks) as readonly (keyof HandlerPolicyOptions)[];

/**
 * Checks what a handler says of its jobs; other keys of `given` are left alone.
 *
 * @param place What stands before the name of the option in messages.
 * @throws InvalidOptionError
 */
export function resolveHandlerPolicy(place: string, given: Readonly<Record<string, unknown>>): HandlerPolicy {
  const said = policyKeys.filter((key) => given[key] !== undefined);
  return Object.freeze(Object.fromEntries(said.map((key) => [key, checks[key](place + key, given[key])])));
}

/** The policies that a queue has been given by job type; an object without a prototype, so that any text can be a type. */
export type HandlerPolicies = Readonly<Record<string, HandlerPolicy>>;

/**
 * Checks the option `handlers` of a queue.
 *
 * @throws InvalidOptionError | InvalidJobTypeError
 */
export function resolveHandlerPolicies(option: string, value: unknown): HandlerPolicies {
  const given = checkKnownKeys(option, value, Object.keys(value ?? {}));
  const policies: Record<string, HandlerPolicy> = Object.create(null) as Record<string, HandlerPolicy>;
  for (const type of Object.keys(given)) {
    checkJobType(type);
    const place = `${option}['${type}']`;
    policies[type] = resolveHandlerPolicy(`${place}.`, checkKnownKeys(place, given[type], policyKeys));
  }
  return Object.freeze(policies);
}

/** What counts for a job type: what the queue was given for it, then what its handler says. */
export function mergePolicies(own: HandlerPolicy | undefined, given: HandlerPolicy | undefined): HandlerPolicy {
  if (given === undefined) return own ?? none;
  if (own === undefined) return given;
  const retention = { ...own.retention, ...withoutUndefined(given.retention ?? {}) };
  return { ...own, ...given, ...(given.retention === undefined ? {} : { retention }) };
}

const none: HandlerPolicy = Object.freeze({});

function withoutUndefined(retention: Retention): Retention {
  return Object.fromEntries(Object.entries(retention).filter(([, value]) => value !== undefined));
}
