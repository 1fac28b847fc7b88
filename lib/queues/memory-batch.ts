import type { NewBatch } from '../model/batch-progress.js';
import type { SubmitOptions } from '../model/enqueue-options.js';
import type { JobContext } from '../model/job-context.js';
import type { PayloadPart } from '../model/job-payloads.js';
import type { EnqueuedJob } from '../model/job-middleware.js';
import type { NewJob } from '../model/job.js';
import { requestsOf, type BatchRequest, type ChainStep, type FollowUps } from './batch-request.js';
import { at, makeOne } from './job-request.js';
import { isMemoryJob, type MemoryJob, type MemoryJobMaker } from './memory-job-maker.js';
import { describeWork } from './memory-work.js';

type TypedMemoryRequest<T extends string> = SubmitOptions & { readonly type: T } & PayloadPart<T>;

/** One job of a memory batch or chain: a function, a job object, or the payload and options for a registered handler. */
export type MemoryRequest<T extends string = string> =
  ((job: JobContext) => unknown) | MemoryJob | TypedMemoryRequest<T>;

/** One job of a memory batch or chain, of one of these types, as `JobRequestOf` is one. */
type MemoryRequestOf<N extends string> =
  | ((job: JobContext) => unknown)
  | MemoryJob
  | ({ readonly type: N } & (N extends string ? TypedMemoryRequest<N> : never));

/** The jobs of a memory batch. */
export type MemoryJobs<N extends string> = readonly MemoryRequestOf<N>[];
/** The steps of a memory chain. */
export type MemorySteps<N extends string> = readonly ChainStep<MemoryRequestOf<N>>[];
/** What follows either. */
export type MemoryEnd<N extends string> = FollowUps<MemoryRequestOf<N>>;

/** Makes all jobs of a batch. @throws as `submit` does, with the place of the job that is refused. */
export function memoryBatch({ steps, onComplete, onFailure }: BatchRequest, maker: MemoryJobMaker): NewBatch {
  const make = ([place, request]: readonly [string, unknown]): NewJob =>
    isWork(request)
      ? at(place, () => maker.make(request, []))
      : makeOne(place, request, ({ type, payload, ...options }) => maker.make(type, [payload, options]));
  return {
    id: maker.newId(),
    steps: steps.map((step) => step.map(make)),
    onComplete: onComplete === undefined ? undefined : make(['onComplete', onComplete]),
    onFailure: onFailure === undefined ? undefined : make(['onFailure', onFailure]),
  };
}

/** All jobs of a batch, as middleware sees them; whatever is wrong with them is said when they are made. */
export function describeMemoryBatch(batch: BatchRequest): readonly EnqueuedJob[] {
  return requestsOf(batch).map(([, request]) => {
    if (isWork(request) || typeof request !== 'object' || request === null) return describeWork(request, []);
    const { type, payload, ...options } = request as { readonly type?: unknown; readonly payload?: unknown };
    return describeWork(type, [payload, options]);
  });
}

function isWork(request: unknown): boolean {
  return typeof request === 'function' || isMemoryJob(request);
}
