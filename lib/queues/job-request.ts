import { show } from '../model/check.js';
import type { EnqueueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError, JobsError } from '../model/errors.js';
import type { EnqueuedJob } from '../model/job-middleware.js';
import type { PayloadOf } from '../model/job-payloads.js';

/** One job for `enqueueMany`. */
export type JobRequest<T extends string = string> = Omit<EnqueueOptions, 'manager'> & {
  readonly type: T;
} & (undefined extends PayloadOf<T> ? { readonly payload?: PayloadOf<T> } : { readonly payload: PayloadOf<T> });

/**
 * Makes a job of each request; says of one that is refused which one it is.
 *
 * @throws InvalidOptionError unless `requests` is an array of objects; whatever `make` throws.
 */
export function makeEach<R>(requests: unknown, make: (request: JobRequest) => R): R[] {
  if (!Array.isArray(requests)) {
    throw new InvalidOptionError(`enqueueMany takes an array of { type, payload, …options }, got ${show(requests)}`);
  }
  return requests.map((request: unknown, index) => {
    try {
      if (isRequest(request)) return make(request);
      throw new InvalidOptionError(`a job is { type, payload, …options }, got ${show(request)}`);
    } catch (error) {
      if (error instanceof JobsError) error.message = `jobs[${index}]: ${error.message}`;
      throw error;
    }
  });
}

function isRequest(request: unknown): request is JobRequest {
  return typeof request === 'object' && request !== null && !Array.isArray(request);
}

/** A request as middleware sees it; whatever is wrong with it is said when the job is made. */
export function describeRequest(request: unknown): EnqueuedJob {
  const { type, payload, ...options } = (isRequest(request) ? request : {}) as JobRequest;
  return { queue: 'persistent', type, payload, options };
}
