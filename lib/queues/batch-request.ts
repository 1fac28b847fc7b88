import { checkKnownKeys, show } from '../model/check.js';
import type { EnqueueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError } from '../model/errors.js';
import type { JobRequest, JobRequestOf } from './job-request.js';

/** What follows a batch or a chain. One of the two jobs is enqueued, once, when all jobs are over for good. */
export interface FollowUps<R = JobRequest> {
  /** When all of them have completed. Default: nothing. */
  readonly onComplete?: R | undefined;
  /** When one of them has failed, expired, or was cancelled or deleted. Default: nothing. */
  readonly onFailure?: R | undefined;
}

/** Options of `enqueueBatch` and `enqueueChain`. */
export type BatchOptions<N extends string = string> = FollowUps<JobRequestOf<N>> & Pick<EnqueueOptions, 'manager'>;

/** What `enqueueBatch` and `enqueueChain` have stored. */
export interface EnqueuedBatch {
  /** For `batch(id)`; the job that follows finds it in `job.batch`. */
  readonly id: string;
  /** The ids of the jobs, in their order; of one whose key another job holds, the id of that one. */
  readonly jobIds: readonly string[];
}

/** A step of a chain: one job, or several that run at the same time. */
export type ChainStep<R = JobRequest> = R | readonly R[];

/** Jobs of one step, each with what an error calls it. */
export type PlacedRequests = readonly (readonly [place: string, request: unknown])[];

/** What a batch or a chain is to be made of, its jobs not checked yet. */
export interface BatchRequest {
  readonly steps: readonly PlacedRequests[];
  readonly onComplete: unknown;
  readonly onFailure: unknown;
  readonly manager: unknown;
}

/** Each step of a chain reads the list of the steps behind it. */
const mostSteps = 1_000;

/** @throws InvalidOptionError */
export function resolveBatch(jobs: unknown, options: unknown): BatchRequest {
  if (!Array.isArray(jobs)) {
    throw new InvalidOptionError(`a batch is an array of { type, payload, …options }, got ${show(jobs)}`);
  }
  return { steps: [jobs.map((job: unknown, index) => [`jobs[${index}]`, job] as const)], ...resolveOptions(options) };
}

/** @throws InvalidOptionError */
export function resolveChain(steps: unknown, options: unknown): BatchRequest {
  if (!Array.isArray(steps)) {
    throw new InvalidOptionError(`a chain is an array of jobs, and of arrays of jobs, got ${show(steps)}`);
  }
  if (steps.length > mostSteps) {
    throw new InvalidOptionError(
      `a chain has at most ${mostSteps} steps, got ${steps.length}; let the last one enqueue the next chain`,
    );
  }
  return { steps: steps.map(resolveStep), ...resolveOptions(options) };
}

function resolveStep(step: unknown, index: number): PlacedRequests {
  const place = `steps[${index}]`;
  if (!Array.isArray(step)) return [[place, step]];
  if (step.length === 0) throw new InvalidOptionError(`${place} has no jobs; leave it out`);
  return step.map((job: unknown, position) => [`${place}[${position}]`, job] as const);
}

function resolveOptions(options: unknown = {}): Omit<BatchRequest, 'steps'> {
  const given = checkKnownKeys('the options of a batch', options, ['onComplete', 'onFailure', 'manager']);
  return { onComplete: given['onComplete'], onFailure: given['onFailure'], manager: given['manager'] };
}

/** All jobs that it may bring, the ones that follow included. */
export function requestsOf({ steps, onComplete, onFailure }: BatchRequest): PlacedRequests {
  const followUps = [['onComplete', onComplete] as const, ['onFailure', onFailure] as const];
  return [...steps.flat(), ...followUps.filter(([, request]) => request !== undefined)];
}
