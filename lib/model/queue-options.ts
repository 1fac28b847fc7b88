import { checkDuration, checkFunction, checkInteger, checkKnownKeys, checkOneOf, show } from './check.js';
import { checkCarriers, type ContextCarrier } from './context-carrier.js';
import { InvalidOptionError } from './errors.js';
import {
  mostRetries,
  resolveHandlerPolicies,
  type HandlerPolicies,
  type HandlerPolicyOptions,
} from './handler-policy.js';
import { checkMiddleware, type JobMiddleware } from './job-middleware.js';
import { checkQueueName } from './queue-name.js';
import { resolveRetention, type Retention, type RetentionOptions } from './retention.js';
import { resolveBackoff, type Backoff, type BackoffFunction, type BackoffOptions } from './retry-policy.js';
import { checkTableName, defaultTableName } from './table-name.js';

const mostWorkers = 10_000;

/** Options that both queues have. Durations are milliseconds. */
interface CommonQueueOptions {
  /** Jobs that run at the same time in this process. Default 4. */
  workers?: number;
  /** Retries after the first attempt: 2 means at most 3 attempts. Default 3. */
  maxRetries?: number;
  /** How long to wait between attempts. Default 500 ms, doubled each time, at most an hour. */
  backoff?: BackoffOptions | BackoffFunction;
  /** An attempt that takes longer counts as failed and its `signal` is aborted. Default 0: no limit. */
  timeout?: number;
  /** How long a stop waits for jobs before it aborts their `signal`. Default 20 000. */
  shutdownTimeout?: number;
  /** What counts for the jobs of a type, whatever its handler says. Default: nothing is said here. */
  handlers?: Readonly<Record<string, HandlerPolicyOptions>>;
  /** Code around the enqueueing of jobs and around their attempts, outermost first. Default none. */
  middleware?: readonly JobMiddleware[];
  /** What is carried from where a job is enqueued to where it runs, outermost first. Default nothing. */
  context?: readonly ContextCarrier[];
}

/** Options of the memory queue. */
export interface MemoryQueueOptions extends CommonQueueOptions {
  /** Jobs that may wait; `submit` refuses more. Default 100 000. */
  maxQueued?: number;
}

/** Options of the persistent queue. */
export interface PersistentQueueOptions extends CommonQueueOptions {
  /** TypeORM DataSource, or the name of one. Default: the app's default DataSource. */
  dataSource?: unknown;
  /**
   * Returns the EntityManager of the transaction around its caller, for `enqueue` to join without being given one; undefined, or a manager that
   * is in no transaction, where there is none. Default: what typeorm-transactional has made of the DataSource, if anything.
   */
  transaction?: () => unknown;
  /** Table of the jobs, 'schema.table' where the database has schemas; the DataSource's `entityPrefix` comes before it. Default 'rws_jobs'. */
  tableName?: string;
  /** 'auto' makes and updates the table, 'check' only looks whether it is right, 'none' trusts you. Default 'auto'. */
  schema?: 'auto' | 'check' | 'none';
  /**
   * Queues that have workers of their own in this process, and how many: `{ mail: 2 }`. `workers` serve all the others, and may then be 0, so that this
   * process works on the named queues alone. Default: none.
   */
  queues?: Record<string, number>;
  /** How often an idle process looks for due jobs when nothing wakes it. Default 500. */
  pollInterval?: number;
  /** A claim that was not renewed for this long counts as a dead worker's. Renewed three times in that time. At least 250; a few seconds are the least that makes sense. Default 30 000. */
  lease?: number;
  /** A job whose worker died this often ends `failed`. Default 3. */
  maxInterruptions?: number;
  /** Wait after the second interruption, twice as long after the third, and so on; the first costs no wait. Default 1 000. */
  interruptionBackoff?: number;
  /** Most jobs that are claimed ahead of free workers while short jobs stream through. 0 claims none ahead. Default 1 000. */
  prefetch?: number;
  /** What becomes of pending jobs that no handler here knows: left to a process that knows them, or failed. Default 'ignore'. */
  unknownTypes?: 'ignore' | 'fail';
  /** How long rows of jobs are kept that are over. Default: completed ones not at all, failed ones for ever. */
  retention?: RetentionOptions;
  /** Largest payload, bytes of JSON. Default 4 194 304 (4 MiB). */
  maxPayloadSize?: number;
  /** SQLite: how long to wait for a transaction that other code holds on the shared connection. Default 5 000. */
  transactionWait?: number;
  /** PostgreSQL, MySQL: connections of our own, at most; on PostgreSQL up to two that claim and one that listens come to it. Default 3. */
  connections?: number;
  /** PostgreSQL: wake other processes through NOTIFY. Default true. */
  notify?: boolean;
}

/** Common options, complete. */
export interface ResolvedQueueOptions {
  readonly workers: number;
  readonly maxRetries: number;
  readonly backoff: Backoff;
  readonly timeout: number;
  readonly shutdownTimeout: number;
  readonly handlers: HandlerPolicies;
  readonly middleware: readonly JobMiddleware[];
  readonly context: readonly ContextCarrier[];
}

export interface ResolvedMemoryOptions extends ResolvedQueueOptions {
  readonly maxQueued: number;
}

export interface ResolvedPersistentOptions extends ResolvedQueueOptions {
  readonly dataSource: unknown;
  readonly transaction: (() => unknown) | undefined;
  readonly tableName: string;
  readonly schema: 'auto' | 'check' | 'none';
  readonly queues: Readonly<Record<string, number>>;
  readonly pollInterval: number;
  readonly lease: number;
  readonly maxInterruptions: number;
  readonly interruptionBackoff: number;
  readonly prefetch: number;
  readonly unknownTypes: 'ignore' | 'fail';
  readonly retention: Retention;
  readonly maxPayloadSize: number;
  readonly transactionWait: number;
  readonly connections: number;
  readonly notify: boolean;
}

const commonDefaults = { workers: 4, maxRetries: 3, timeout: 0, shutdownTimeout: 20_000, middleware: [], context: [] };
const memoryDefaults = { ...commonDefaults, maxQueued: 100_000 };
const persistentDefaults = {
  ...commonDefaults,
  dataSource: undefined,
  transaction: undefined,
  retention: {},
  queues: {},
  tableName: defaultTableName,
  schema: 'auto',
  pollInterval: 500,
  lease: 30_000,
  maxInterruptions: 3,
  interruptionBackoff: 1_000,
  prefetch: 1_000,
  unknownTypes: 'ignore',
  maxPayloadSize: 4_194_304,
  transactionWait: 5_000,
  connections: 3,
  notify: true,
} as const;

/** Completes and checks the options of the memory queue. @throws InvalidOptionError */
export function resolveMemoryOptions(options: unknown = {}, path = 'memory'): ResolvedMemoryOptions {
  const given = complete(options, path, memoryDefaults);
  return Object.freeze({
    ...resolveCommon(given, path),
    maxQueued: checkInteger(`${path}.maxQueued`, given['maxQueued'], 1, 100_000_000),
  });
}

/** Completes and checks the options of the persistent queue. @throws InvalidOptionError */
export function resolvePersistentOptions(options: unknown = {}, path = 'persistent'): ResolvedPersistentOptions {
  const given = complete(options, path, persistentDefaults);
  const at = (key: string) => [`${path}.${key}`, given[key]] as const;
  const queues = resolveQueues(`${path}.queues`, given['queues']);
  return Object.freeze({
    ...resolveCommon(given, path, Object.keys(queues).length === 0 ? 1 : 0),
    queues,
    dataSource: given['dataSource'],
    transaction: given['transaction'] === undefined ? undefined : checkFunction(...at('transaction')),
    tableName: checkTableName(`${path}.tableName`, given['tableName']),
    schema: checkOneOf(...at('schema'), ['auto', 'check', 'none'] as const),
    pollInterval: checkDuration(...at('pollInterval'), 10),
    lease: checkDuration(...at('lease'), 250),
    maxInterruptions: checkInteger(...at('maxInterruptions'), 1, 1_000),
    interruptionBackoff: checkDuration(...at('interruptionBackoff'), 0, 86_400_000),
    prefetch: checkInteger(...at('prefetch'), 0, 10_000),
    unknownTypes: checkOneOf(...at('unknownTypes'), ['ignore', 'fail'] as const),
    retention: resolveRetention(`${path}.retention`, given['retention']),
    maxPayloadSize: checkInteger(...at('maxPayloadSize'), 1, 1_073_741_824),
    transactionWait: checkDuration(...at('transactionWait'), 0, 600_000),
    connections: checkInteger(...at('connections'), 1, 100),
    notify: checkOneOf(...at('notify'), [true, false] as const),
  });
}

function resolveCommon(given: Record<string, unknown>, path: string, fewest = 1): ResolvedQueueOptions {
  return {
    workers: checkInteger(`${path}.workers`, given['workers'], fewest, mostWorkers),
    maxRetries: checkInteger(`${path}.maxRetries`, given['maxRetries'], 0, mostRetries),
    backoff: resolveBackoff(given['backoff'], `${path}.backoff`),
    timeout: checkDuration(`${path}.timeout`, given['timeout']),
    shutdownTimeout: checkDuration(`${path}.shutdownTimeout`, given['shutdownTimeout'], 0, 86_400_000),
    handlers: resolveHandlerPolicies(`${path}.handlers`, given['handlers'] ?? {}),
    middleware: checkMiddleware(`${path}.middleware`, given['middleware']),
    context: checkCarriers(`${path}.context`, given['context']),
  };
}

/** The queues that have an option of this name. */
export function queuesWithOption(name: string): readonly ('persistent' | 'memory')[] {
  const has = (defaults: object): boolean => ['backoff', 'handlers', ...Object.keys(defaults)].includes(name);
  const queues = { persistent: persistentDefaults, memory: memoryDefaults };
  return (['persistent', 'memory'] as const).filter((queue) => has(queues[queue]));
}

/** @throws InvalidOptionError unless `workers` is a whole number from 1 to 10 000. */
export function checkWorkers(workers: unknown, name = 'workers'): number {
  return checkInteger(name, workers, 1, mostWorkers);
}

function resolveQueues(option: string, value: unknown): Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidOptionError(`${option} must be an object like { mail: 2 }, got ${show(value)}`);
  }
  const checked = Object.entries(value).map(([queue, workers]: [string, unknown]) => [
    checkQueueName(`a name in ${option}`, queue),
    checkWorkers(workers, `${option}.${queue}`),
  ]);
  return Object.freeze(Object.fromEntries(checked) as Record<string, number>);
}

function complete(options: unknown, path: string, defaults: Record<string, unknown>): Record<string, unknown> {
  const given = checkKnownKeys(path, options, ['backoff', 'handlers', ...Object.keys(defaults)]);
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(present) };
}
