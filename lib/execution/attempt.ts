import type { JobContext, JobLogger } from '../model/job-context.js';
import { JobAbortedError, type AbortCause, type InvalidPayloadError } from '../model/errors.js';
import type { ClaimedJob } from '../model/job.js';

/** Makes the logger of one attempt; called only when a handler asks for it. */
export type JobLoggerFactory = (job: ClaimedJob) => JobLogger;

const messages: Readonly<Record<AbortCause, string>> = {
  timeout: 'the attempt took longer than its timeout',
  cancelled: 'the job was cancelled',
  'lease lost': 'this worker lost its claim on the job; another one may run it by now',
  shutdown: 'the queue is stopping',
};

const noTags: readonly string[] = Object.freeze([]);

/**
 * One run of a job, and the context that its handler receives.
 *
 * Signal and logger are made on demand: most handlers never look at them, and a queue that streams short jobs should not pay for
 * them. Nothing of an attempt is tied to anything that outlives it.
 */
export class Attempt implements JobContext {
  private controller: AbortController | undefined;
  private ownLogger: JobLogger | undefined;
  private abortCause: AbortCause | undefined;
  /** Whether its claim is known to be lost: its outcome is of no use any more. */
  isLost = false;
  /** Whether its outcome is on the way to the store, whose answer says whether the claim still stood. */
  hasEnded = false;
  /** Moment, on the monotonic clock, before which the lease was last renewed. */
  renewedAt: number;
  /** Moment of its start on the monotonic clock; 0 before it. */
  startedAt = 0;
  /** Moment, on the monotonic clock, after which it must not start: its permit would be counted wrong. */
  startsBy = Infinity;
  /** Whether its handler has been called, or is just about to be. */
  hasBegun = false;
  /** The error by which its payload was refused, if it was. */
  refusal: InvalidPayloadError | undefined;
  /** Whether a long run has been reported. */
  isReported = false;

  constructor(
    /** The job under its claim. */
    readonly job: ClaimedJob,
    /** Moment of its claim on the monotonic clock. */
    readonly claimedAt: number,
    private readonly makeLogger: JobLoggerFactory,
  ) {
    this.renewedAt = claimedAt;
  }

  get id(): string {
    return this.job.id;
  }

  get type(): string {
    return this.job.type;
  }

  get attempt(): number {
    return this.job.attempts + 1;
  }

  get maxRetries(): number {
    return this.job.maxRetries;
  }

  get tags(): readonly string[] {
    return this.job.tags ?? noTags;
  }

  /** Whether it came too late to be run. The time since the claim was sent off counts, so that it is never run after its time. */
  get isExpired(): boolean {
    const { expiresInMs } = this.job;
    return expiresInMs !== undefined && this.startedAt - this.claimedAt >= expiresInMs;
  }

  get signal(): AbortSignal {
    this.controller ??= this.makeController();
    return this.controller.signal;
  }

  get logger(): JobLogger {
    this.ownLogger ??= this.makeLogger(this.job);
    return this.ownLogger;
  }

  /** Why the attempt was told to end, if it was. */
  get aborted(): AbortCause | undefined {
    return this.abortCause;
  }

  /** @param now Moment on the monotonic clock. */
  begin(now: number): void {
    this.startedAt = now;
    this.hasBegun = true;
  }

  /** Tells the handler to end. The first cause stands. */
  abort(cause: AbortCause): void {
    if (this.abortCause !== undefined) return;
    this.abortCause = cause;
    this.controller?.abort(new JobAbortedError(cause, messages[cause]));
  }

  private makeController(): AbortController {
    const controller = new AbortController();
    if (this.abortCause !== undefined) {
      controller.abort(new JobAbortedError(this.abortCause, messages[this.abortCause]));
    }
    return controller;
  }
}
