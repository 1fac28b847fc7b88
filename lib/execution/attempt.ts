import type { JobBatch } from '../model/batch.js';
import type { JobContext, JobLogger } from '../model/job-context.js';
import { InvalidManagerError, JobAbortedError, type AbortCause, type InvalidPayloadError } from '../model/errors.js';
import type { ClaimedJob } from '../model/job.js';
import { checkProgress } from '../model/job-progress.js';
import { checkLogLine } from '../model/log-lines.js';
import { checkOnce } from '../model/remembered.js';
import { AttemptNotes } from './attempt-notes.js';

/** Makes the logger of one attempt; called only when a handler asks for it. */
export type JobLoggerFactory = (job: ClaimedJob) => JobLogger;

/** A step that is to be run once. */
export interface OnceStep {
  readonly name: string;
  readonly run: (manager: unknown) => unknown;
}

/** What attempts need of their queue. */
export interface AttemptParts {
  readonly makeLogger: JobLoggerFactory;
  /** Runs a step of a job once for all of its attempts; absent where nothing could remember that. */
  readonly once?: ((attempt: Attempt, step: OnceStep) => Promise<unknown>) | undefined;
  /** Called when an attempt has something new in its notes. */
  readonly onNoted?: ((attempt: Attempt) => void) | undefined;
}

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
  private ownNotes: AttemptNotes | undefined;
  private abortCause: AbortCause | undefined;
  private ownManager: unknown;
  private isAbandoned = false;
  private onDoom: (() => void) | undefined;
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
  /** Told when it was too late to start, so that the next ones get more time. */
  onLate: (() => void) | undefined;
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
    private readonly parts: AttemptParts,
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

  get batch(): JobBatch | undefined {
    return this.job.batch;
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
    this.ownLogger ??= this.parts.makeLogger(this.job);
    return this.ownLogger;
  }

  /** What its handler has said while it ran; `undefined` for nothing. */
  get notes(): AttemptNotes | undefined {
    return this.ownNotes;
  }

  progress(fraction: number, note?: string): void {
    const said = checkProgress(fraction, note);
    this.note((notes) => notes.progress({ ...said, at: Date.now(), attempt: this.attempt }));
  }

  log(line: string): void {
    const text = checkLogLine(line);
    this.note((notes) => notes.log({ at: Date.now(), attempt: this.attempt, text }));
  }

  /** @throws InvalidManagerError outside of a transactional handler. */
  get manager(): never {
    if (this.ownManager !== undefined) return this.ownManager as never;
    throw new InvalidManagerError(
      `job.manager is the EntityManager of transactional handlers only: give the handler of job type '${this.type}' the option transactional: true`,
    );
  }

  async once<T>(name: string, run: (manager: never) => T | PromiseLike<T>): Promise<T> {
    checkOnce(name, run);
    if (this.parts.once === undefined) {
      throw new InvalidManagerError('job.once needs the persistent queue: jobs in memory remember nothing');
    }
    return this.parts.once(this, { name, run: run as OnceStep['run'] }) as Promise<T>;
  }

  /** Whether it runs in a transaction. */
  get isInTransaction(): boolean {
    return this.ownManager !== undefined;
  }

  /**
   * It runs in the transaction of this manager.
   *
   * @param onDoom Called when nothing that comes of it can count any more.
   */
  enter(manager: unknown, onDoom: () => void): void {
    this.ownManager = manager;
    this.onDoom = onDoom;
    if (this.isDoomed) onDoom();
  }

  /** Nothing that comes of it can count any more: it was told to end for good, or nobody waits for it. */
  get isDoomed(): boolean {
    return this.isAbandoned || (this.abortCause !== undefined && this.abortCause !== 'shutdown');
  }

  /** Nobody waits for its handler any more. */
  abandon(): void {
    this.isAbandoned = true;
    this.onDoom?.();
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
    // A handler that is told to stop because of a shutdown may still end well.
    if (this.isDoomed) this.onDoom?.();
  }

  /** What comes after the end, from a handler that nobody waits for any more, is of no use. */
  private note(add: (notes: AttemptNotes) => void): void {
    if (this.hasEnded || this.isLost) return;
    this.ownNotes ??= new AttemptNotes();
    add(this.ownNotes);
    this.parts.onNoted?.(this);
  }

  private makeController(): AbortController {
    const controller = new AbortController();
    if (this.abortCause !== undefined) {
      controller.abort(new JobAbortedError(this.abortCause, messages[this.abortCause]));
    }
    return controller;
  }
}
