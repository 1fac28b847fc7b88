import { types } from 'node:util';
import { checkWait, longestMs, show } from './check.js';
import { JobsError } from './errors.js';

/**
 * Thrown or returned by a handler: the attempt failed, and the next one comes after `ms` milliseconds instead of the backoff. It counts
 * as an attempt; where no retry is left the job has failed.
 *
 * ```ts
 * if (response.status === 429) throw new RetryAfter(Number(response.headers.get('retry-after')) * 1_000);
 * ```
 */
export class RetryAfter extends JobsError {
  readonly code = 'JOBS_RETRY_AFTER';
  /** Milliseconds from the end of the attempt. */
  readonly ms: number;

  /**
   * @param ms From 0; a fraction is rounded up.
   * @param reason Stands where the message of an error would. Default: that the handler asked for it.
   * @throws InvalidOptionError when `ms` is no such number; in a handler that is an ordinary failure.
   */
  constructor(ms: number, reason = 'the handler asked for a later retry', options?: ErrorOptions) {
    super(reason, options);
    this.ms = checkWait('the ms of RetryAfter', ms);
  }
}

/** Thrown or returned by a handler: no retry can help. The job is `failed` now, with this reason, whatever retries it has left. */
export class Discard extends JobsError {
  readonly code = 'JOBS_DISCARD';

  /** @param reason Becomes the `last_error` of the job. */
  constructor(reason = 'the handler discarded the job', options?: ErrorOptions) {
    super(reason, options);
  }
}

/**
 * Thrown or returned by a handler: not now. The job is pending again, due after `ms` milliseconds, and no attempt is counted. A job may
 * do so as often as it likes, so a wait is never shorter than a second.
 */
export class Snooze extends JobsError {
  readonly code = 'JOBS_SNOOZE';
  /** Milliseconds from the end of the attempt. */
  readonly ms: number;

  /**
   * @param ms From 0; a fraction is rounded up, and less than 1 000 is taken for 1 000.
   * @param reason For the history of the job. Default: that the handler asked for it.
   * @throws InvalidOptionError when `ms` is no such number; in a handler that is an ordinary failure.
   */
  constructor(ms: number, reason = 'the handler put the job off', options?: ErrorOptions) {
    super(reason, options);
    this.ms = checkWait('the ms of Snooze', ms);
  }
}

/** What a handler asks for; `unclear` where it asks for a wait that is none, as only code of another origin can. */
export type Steering =
  | { readonly kind: 'retry after'; readonly ms: number }
  | { readonly kind: 'discard' }
  | { readonly kind: 'snooze'; readonly ms: number }
  | { readonly kind: 'unclear'; readonly reason: string };

/**
 * Reads what a handler threw or returned; `undefined` where it does not steer. Goes by the `code` and not by the class: an app may hold
 * several copies of this library, and the handler may know another one than the queue. Never throws.
 */
export function steeringOf(value: unknown): Steering | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return types.isNativeError(value) || value instanceof Error ? read(value) : undefined;
  } catch {
    return undefined;
  }
}

function read(error: Error): Steering | undefined {
  switch ('code' in error ? error.code : undefined) {
    case 'JOBS_DISCARD':
      return { kind: 'discard' };
    case 'JOBS_RETRY_AFTER':
      return withWait('retry after', error);
    case 'JOBS_SNOOZE':
      return withWait('snooze', error);
    default:
      return undefined;
  }
}

function withWait(kind: 'retry after' | 'snooze', error: Error): Steering {
  const ms: unknown = 'ms' in error ? error.ms : undefined;
  if (typeof ms === 'number' && ms >= 0 && ms <= longestMs) return { kind, ms: Math.ceil(ms) };
  return { kind: 'unclear', reason: `the handler asked to ${kind} ${show(ms)}, which is no number of milliseconds` };
}
