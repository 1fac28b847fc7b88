import type { Handler } from '../handlers/handler-registry.js';
import { InvalidHandlerError } from '../model/errors.js';
import { extractContext } from '../model/context-carrier.js';
import { resolveSubmitOptions } from '../model/enqueue-options.js';
import { mergePolicies } from '../model/handler-policy.js';
import type { ResolvedMemoryOptions } from '../model/queue-options.js';
import type { JobContext } from '../model/job-context.js';
import type { EnqueuedJob } from '../model/job-middleware.js';
import type { NewJob } from '../model/job.js';
import type { PayloadCheck } from '../model/payload-check.js';
import { decodePayload } from '../model/payload.js';
import { jobOptions } from './job-options.js';
import type { WorkerSettings } from '../runtime/worker-parts.js';

/** A job of its own class or object: some work and a name for the log. */
export interface MemoryJob {
  /** Stands in log lines. Default `'job'`. */
  readonly name?: string;
  /** Does the work. An error, thrown or rejected, is retried. */
  run(job: JobContext): unknown;
}

export interface GivenJob extends Pick<NewJob, 'type' | 'payload' | 'run'> {
  readonly request: {
    readonly options: unknown;
    readonly handler?: Handler | undefined;
    readonly payload?: unknown;
  };
}

/** The store tells of every due job, and leases never end. */
export const memoryWorkerSettings: WorkerSettings = {
  pollMs: Infinity,
  leaseMs: 0,
  prefetch: 256,
  maxInterruptions: Infinity,
  owner: 'memory',
};

/** @throws InvalidHandlerError for a handler that needs a database. */
export function refuseTransactional(handler: Handler | undefined): void {
  if (handler?.policy.transactional !== true) return;
  throw new InvalidHandlerError(
    `${handler.source} is transactional, and jobs in memory are in no database: enqueue '${handler.type}' in the persistent queue`,
  );
}

/** Refuses a payload that does not fit, where that can be said at once; what needs a promise is checked before the run alone. */
export function checkNow(schema: PayloadCheck | undefined, type: string, text: string): void {
  const fitting = schema?.check(decodePayload(text), type);
  if (fitting instanceof Promise) fitting.catch(() => undefined);
}

/** What is submitted, as middleware sees it; whatever is wrong with it is said when the job is made. */
export function describeWork(work: unknown, rest: readonly unknown[]): EnqueuedJob {
  if (typeof work === 'string') return { queue: 'memory', type: work, payload: rest[0], options: rest[1] ?? {} };
  const name: unknown = typeof work === 'object' && work !== null && 'name' in work ? work.name : undefined;
  return { queue: 'memory', type: typeof name === 'string' ? name : 'job', payload: undefined, options: rest[0] ?? {} };
}

/** A job for the memory store. @throws InvalidOptionError */
export function makeMemoryJob(
  id: string,
  { type, payload, run, request }: GivenJob,
  queue: Pick<ResolvedMemoryOptions, 'maxRetries' | 'handlers' | 'context'>,
): NewJob {
  const { options, handler, payload: given } = request;
  const { maxRetries, handlers, context } = queue;
  const policy = mergePolicies(handler?.policy, handlers[type]);
  const parts = { options: resolveSubmitOptions(options), handler, policy, payload: given, maxRetries };
  return { id, type, payload, run, context: extractContext(context), ...jobOptions(parts) };
}
