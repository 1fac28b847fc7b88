import { describeError } from './failure.js';
import type { ClaimedJob } from './job.js';
import type { Complaint, Outcome } from './outcome.js';
import { nextWait, type Backoff } from './retry-policy.js';
import { steeringOf } from './steering.js';

/** What a failed attempt is judged by. */
export interface FailurePolicy {
  readonly maxRetries: number;
  readonly backoff: Backoff;
  /** See `Outcome`. */
  readonly keepFailedMs?: number | undefined;
}

export interface Verdict {
  readonly outcome: Outcome;
  readonly complaint?: Complaint;
}

/** Less would let a job that puts itself off each time run without a pause. */
const shortestSnoozeMs = 1_000;

/**
 * The outcome of an attempt that ended with an error, or with one of the errors by which a handler steers: one more retry after its
 * backoff or after the wait that was asked for, the end, or another time without cost.
 */
export function decideFailure(
  job: Pick<ClaimedJob, 'attempts'>,
  thrown: unknown,
  policy: FailurePolicy,
  random: () => number = Math.random,
): Verdict {
  const { attempts } = job;
  const steering = steeringOf(thrown);
  const error = steering?.kind === 'unclear' ? steering.reason : describeError(thrown);
  if (steering?.kind === 'snooze') {
    return { outcome: { kind: 'snoozed', delayMs: Math.max(steering.ms, shortestSnoozeMs), reason: error } };
  }
  if (steering?.kind === 'discard' || attempts >= policy.maxRetries) {
    return { outcome: { kind: 'failed', error, keepMs: policy.keepFailedMs } };
  }
  if (steering?.kind === 'retry after') return { outcome: { kind: 'retried', error, delayMs: steering.ms } };
  const { ms: delayMs, complaint } = nextWait(policy.backoff, { attempts, error: thrown }, random);
  const outcome: Outcome = { kind: 'retried', error, delayMs };
  return complaint === undefined ? { outcome } : { outcome, complaint: { about: 'backoff', reason: complaint } };
}
