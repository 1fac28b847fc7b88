import type { Handler } from '../handlers/handler-registry.js';
import { InvalidHandlerError } from '../model/errors.js';
import type { EnqueuedJob } from '../model/job-middleware.js';
import type { PayloadCheck } from '../model/payload-check.js';
import { decodePayload } from '../model/payload.js';

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
