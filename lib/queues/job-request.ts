import { show } from '../model/check.js';
import type { EnqueueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError, JobsError } from '../model/errors.js';
import type { EnqueuedJob } from '../model/job-middleware.js';
import type { PayloadPart } from '../model/job-payloads.js';

/** One job for `enqueueMany`. */
export type JobRequest<T extends string = string> = Omit<EnqueueOptions, 'manager'> & {
  readonly type: T;
} & PayloadPart<T>;

/** One job of one of these types, with the payload of its own. The types are inferred from `type`, at whatever depth it stands. */
export type JobRequestOf<N extends string> = { readonly type: N } & (N extends string ? JobRequest<N> : never);

/**
 * Makes a job of each request; says of one that is refused which one it is.
 *
 * @throws InvalidOptionError unless `requests` is an array of objects; whatever `make` throws.
 */
export function makeEach<R>(requests: unknown, make: (request: JobRequest) => R, what = 'enqueueMany'): R[] {
  if (!Array.isArray(requests)) {
    throw new InvalidOptionError(`${what} takes an array of { type, payload, …options }, got ${show(requests)}`);
  }
  return requests.map((request: unknown, index) => makeOne(`jobs[${index}]`, request, make));
}

/**
 * Makes a job of one request.
 *
 * @param place What errors begin with.
 * @throws InvalidOptionError unless it is an object; whatever `make` throws.
 */
export function makeOne<R>(place: string, request: unknown, make: (request: JobRequest) => R): R {
  return at(place, () => {
    if (isRequest(request) && 'type' in request) return make(request);
    const given = isRequest(request)
      ? `an object with ${Object.keys(request).slice(0, 5).join(', ') || 'nothing'}`
      : show(request);
    throw new InvalidOptionError(`a job is { type, payload, …options }, got ${given}`);
  });
}

/** Puts the place in front of what is said of it. */
export function at<R>(place: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    throw placed(place, error);
  }
}

/** The error, saying where it comes from. */
export function placed(place: string, error: unknown): unknown {
  if (error instanceof JobsError) error.message = `${place}: ${error.message}`;
  return error;
}

function isRequest(request: unknown): request is JobRequest {
  return typeof request === 'object' && request !== null && !Array.isArray(request);
}

/** A request as middleware sees it; whatever is wrong with it is said when the job is made. */
export function describeRequest(request: unknown): EnqueuedJob {
  const { type, payload, ...options } = (isRequest(request) ? request : {}) as JobRequest;
  return { queue: 'persistent', type, payload, options };
}
