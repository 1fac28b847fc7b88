import type { JobType, PayloadOf } from '../model/job-payloads.js';
import { InvalidOptionError } from '../model/errors.js';
import { show } from '../model/check.js';
import { TestJobs } from './test-jobs.js';

/** What a matcher says. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/** Some of a payload; what is left out does not matter. */
export type PayloadPart<P> = P extends object ? { readonly [K in keyof P]?: PayloadPart<P[K]> } : P;

/** The matchers, as `expect(jobs)` has them. `R` is what a matcher returns there. */
export interface JobMatchers<R = unknown> {
  /** A job of this type was stored, with at least this in its payload. Asymmetric matchers (`expect.any(String)`) work in it. */
  toHaveEnqueued<T extends JobType>(type: T, payload?: PayloadPart<PayloadOf<T>>): R;
  /** So many jobs of this type were stored. */
  toHaveEnqueuedTimes(type: JobType, times: number): R;
}

declare global {
  // oxlint-disable-next-line typescript/no-namespace -- that is how the types of Jest are extended
  namespace jest {
    // oxlint-disable-next-line typescript/no-unused-vars, typescript/no-empty-object-type -- the parameters have to be those of Jest
    interface Matchers<R, T = {}> extends JobMatchers<R> {}
  }
}

/** For `expect.extend(jobMatchers)`, of Jest and of Vitest. */
export const jobMatchers = {
  toHaveEnqueued(jobs: unknown, type: string, ...wanted: readonly unknown[]): MatcherResult {
    const found = jobsOf(jobs).enqueued(type);
    const pass = found.some(({ payload }) => wanted.length === 0 || isPartOf(wanted[0], payload));
    const what = `a job of type '${type}'${wanted.length === 0 ? '' : ` with ${text(wanted[0])}`}`;
    return { pass, message: () => `expected ${pass ? 'no such job' : what}, enqueued ${describe(jobs, type)}` };
  },

  toHaveEnqueuedTimes(jobs: unknown, type: string, times: number): MatcherResult {
    const { length } = jobsOf(jobs).enqueued(type);
    const message = (): string => `expected ${times} job(s) of type '${type}', enqueued ${describe(jobs, type)}`;
    return { pass: length === times, message };
  },
};

function jobsOf(value: unknown): TestJobs {
  if (value instanceof TestJobs) return value;
  throw new InvalidOptionError(`expect() must be given the JobsTesting of the app, got ${show(value)}`);
}

function describe(jobs: unknown, type: string): string {
  const found = jobsOf(jobs).enqueued(type);
  if (found.length > 0) return `were ${found.length}: ${found.map(({ payload }) => text(payload)).join(', ')}`;
  const types = [
    ...new Set(
      jobsOf(jobs)
        .enqueued()
        .map((job) => `'${job.type}'`),
    ),
  ];
  return types.length === 0 ? 'was nothing' : `was none of it, but ${types.join(', ')}`;
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

/** Whether all that `wanted` says is so. Arrays must be as long. */
function isPartOf(wanted: unknown, actual: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(wanted, actual);
  if ('asymmetricMatch' in wanted && typeof wanted.asymmetricMatch === 'function') {
    return (wanted as { asymmetricMatch(other: unknown): boolean }).asymmetricMatch(actual);
  }
  if (typeof actual !== 'object' || actual === null || Array.isArray(wanted) !== Array.isArray(actual)) return false;
  if (Array.isArray(wanted) && Array.isArray(actual) && wanted.length !== actual.length) return false;
  return Object.entries(wanted).every(([key, value]) => isPartOf(value, Reflect.get(actual, key)));
}
