import type { Observable } from 'rxjs';
import { Executor } from '../execution/executor.js';
import { makeRunWrapper } from '../execution/run-wrapper.js';
import type { RegisterOptions } from '../handlers/handler-options.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import { show } from '../model/check.js';
import { systemClock, type Clock } from '../model/clock.js';
import type { SubmitOptions } from '../model/enqueue-options.js';
import type { EnqueueResult } from '../model/enqueue-result.js';
import { InvalidHandlerError, QueueClosedError, QueueFullError, UnknownJobTypeError } from '../model/errors.js';
import type { ControlResult } from '../model/control-result.js';
import { JobEvents, type JobEventKind } from '../model/events.js';
import type { JobContext } from '../model/job-context.js';
import type {
  HandlerFor,
  HandlerWithSchema,
  JobPayloads,
  JobType,
  PayloadArguments,
  PayloadOf,
} from '../model/job-payloads.js';
import { checkJobType } from '../model/job-type.js';
import type { NewJob } from '../model/job.js';
import { encodePayload } from '../model/payload.js';
import { resolveMemoryOptions, type MemoryQueueOptions, type ResolvedMemoryOptions } from '../model/queue-options.js';
import type { PayloadSchema, SchemaOutput } from '../model/payload-schema.js';
import { attachJobLog, attemptLogger, jobsLogger } from '../observe/job-log.js';
import { ClaimDesk } from '../runtime/claim-desk.js';
import { NoteWriter } from '../runtime/note-writer.js';
import { SuspectSeat } from '../runtime/suspect-seat.js';
import { Watch } from '../runtime/watch.js';
import { Worker } from '../runtime/worker.js';
import type { JobEvent } from '../model/job-event.js';
import { MemoryStore } from '../stores/memory/memory-store.js';
import { ConcurrencyLimits } from './concurrency-limits.js';
import { EnqueueLayers } from './enqueue-layers.js';
import {
  checkNow,
  describeWork,
  makeMemoryJob,
  memoryWorkerSettings,
  refuseTransactional,
  type GivenJob,
  type MemoryJob,
} from './memory-work.js';
import { graceMs, publisherOf, type QueueParts } from './queue-parts.js';
import { registerFunction } from './register.js';

/** Payloads stay in this process, so only nonsense is refused. */
const largestPayload = 1_073_741_824;

/**
 * Runs jobs in this process: functions, job objects, and payloads for registered handlers. Fast and without any
 * store, so what waits is lost when the process ends; `PersistentJobQueue` is for what must not be lost.
 */
export class JobQueue {
  /** The handlers that `submit('type', payload)` runs. */
  readonly handlers: HandlerRegistry;
  private readonly options: ResolvedMemoryOptions;
  private readonly events: JobEvents;
  private readonly clock: Clock;
  private readonly store: MemoryStore;
  private readonly watch = new Watch();
  private readonly layers: EnqueueLayers | undefined;
  private worker: Worker | undefined;
  private isStarted = false;
  private isClosed = false;
  private isCut = false;
  private ending: Promise<void> | undefined;
  private submitted = 0;

  /**
   * @param options Checked at once. Defaults: 4 workers, 3 retries after 500 ms, 1 s and 2 s.
   * @throws InvalidOptionError
   */
  constructor(
    options: MemoryQueueOptions = {},
    private readonly parts: QueueParts = {},
  ) {
    this.options = resolveMemoryOptions(options);
    this.handlers = parts.registry ?? new HandlerRegistry();
    this.events = parts.events ?? new JobEvents();
    this.clock = parts.clock ?? systemClock;
    this.store = new MemoryStore(this.clock, () => this.watch.notify());
    const sink = parts.sink ?? jobsLogger();
    this.layers = EnqueueLayers.of(this.options.middleware, sink);
    attachJobLog(this.events, sink, 'memory');
    void this.store.listen(() => this.worker?.wake());
    if (parts.autoStart ?? true) this.start();
  }

  /**
   * Registers the function that runs jobs of this type.
   *
   * @param options What `@JobHandler` takes as well: retries, backoff, timeout, `schema` and so on. Default: the queue decides.
   * @throws InvalidJobTypeError | InvalidHandlerError | InvalidOptionError | DuplicateHandlerError
   */
  register<T extends JobType, S extends PayloadSchema, P = SchemaOutput<S>>(
    type: T,
    handler: HandlerWithSchema<T, P, S>,
    options: RegisterOptions<T> & { schema: S },
  ): void;
  register<T extends JobType, P = PayloadOf<T>>(
    type: T,
    handler: HandlerFor<T, P>,
    options?: RegisterOptions<T> & { schema?: undefined },
  ): void;
  register(type: string, handler: unknown, options?: object): void {
    registerFunction(this.handlers, { type, handler, options });
  }

  /**
   * Takes a function, a job object, or a payload for a registered handler, and returns at once with the job's id. It runs as
   * soon as a worker is free, in the order of submission; an error is retried with backoff. A payload is copied here.
   *
   * The queue knows nothing of database transactions: what is submitted inside one runs even when it rolls back.
   *
   * @throws QueueFullError when `maxQueued` jobs wait; QueueClosedError after `join` or a stop; UnknownJobTypeError for a type without a handler;
   *   InvalidPayloadError, InvalidOptionError.
   */
  submit(run: (job: JobContext) => unknown, options?: SubmitOptions): string;
  submit(job: MemoryJob, options?: SubmitOptions): string;
  submit<T extends keyof JobPayloads & string>(type: T, ...rest: PayloadArguments<T, SubmitOptions>): string;
  submit<T extends string>(type: T, ...rest: PayloadArguments<T, SubmitOptions>): string;
  submit(work: unknown, ...rest: readonly unknown[]): string {
    return this.submitOne(work, rest).id;
  }

  /** Like `submit`, and tells whether the job is a new one: with a `uniqueKey` another one may do the work. */
  trySubmit(run: (job: JobContext) => unknown, options?: SubmitOptions): EnqueueResult;
  trySubmit(job: MemoryJob, options?: SubmitOptions): EnqueueResult;
  trySubmit<T extends keyof JobPayloads & string>(type: T, ...rest: PayloadArguments<T, SubmitOptions>): EnqueueResult;
  trySubmit<T extends string>(type: T, ...rest: PayloadArguments<T, SubmitOptions>): EnqueueResult;
  trySubmit(work: unknown, ...rest: readonly unknown[]): EnqueueResult {
    return this.submitOne(work, rest);
  }

  /**
   * Takes back a job: one that waits, for its turn or for a retry, never runs; of one that runs the `signal` is aborted and no retry
   * follows. Says what it was: `notFound` stands for jobs that are over as well.
   */
  cancel(id: string): ControlResult {
    const found = this.store.cancel(id);
    this.watch.notify();
    if (found === undefined) return { result: 'notFound' };
    if (found === 'pending') return { result: 'done', from: 'pending' };
    this.worker?.cancel([found]);
    return { result: 'done', from: 'running' };
  }

  /**
   * What happens to the jobs of this queue: the events of one kind, or of all. Each subscription begins with what happens next, and
   * has no end. What a subscriber throws changes nothing, and is logged once.
   */
  observe<K extends JobEventKind = JobEventKind>(kind?: K): Observable<JobEvent<K>> {
    return publisherOf('memory', this.events, this.parts).stream(kind);
  }

  /** Starts the workers. Needed only after `stop()`, and where the queue was made not to start by itself. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.isClosed = false;
    this.isCut = false;
    this.worker ??= this.makeWorker();
    this.worker.start(this.options.workers);
  }

  /** Runs one job that is due to its end; resolves to `true` if there was one. Workers need not be started for it. */
  tick(): Promise<boolean> {
    this.parts.beforeClaim?.();
    this.worker ??= this.makeWorker();
    return this.worker.runOne();
  }

  /** Milliseconds until the first job is due that waits for its time; `undefined` for none. For tests. @internal */
  untilDueMs(): number | undefined {
    return this.store.untilDueMs;
  }

  /** Stops accepting jobs and resolves when all that wait and run are done, retries included. */
  join(): Promise<void> {
    if (this.store.size > 0) this.start();
    this.isClosed = true;
    return this.drain();
  }

  /**
   * Stops within `shutdownTimeout`: jobs that run, wait, or become due until then are finished; after it the `signal` of those that still
   * run is aborted, and the rest is dropped with a line in the log. Jobs are accepted until the queue has stopped.
   */
  async stop(): Promise<void> {
    const { shutdownTimeout } = this.options;
    const ended = this.drain();
    const deadline = this.clock.monotonic() + shutdownTimeout;
    const isDone = (): boolean => this.worker === undefined || !this.store.hasWorkUntil(deadline);
    await this.watch.until(isDone, shutdownTimeout);
    this.isCut = true;
    this.watch.notify();
    await ended;
  }

  private submitOne(work: unknown, rest: readonly unknown[]): EnqueueResult {
    if (this.isClosed) {
      throw new QueueClosedError('the memory queue was joined or stopped and takes no more jobs');
    }
    if (this.store.waiting >= this.options.maxQueued) {
      throw new QueueFullError(
        `the memory queue holds ${this.store.waiting} waiting jobs, its limit (maxQueued); ` +
          'slow down, raise the limit, or use the persistent queue',
      );
    }
    if (this.layers === undefined) return this.take(work, rest);
    return this.layers.aroundSync([describeWork(work, rest)], () => this.take(work, rest));
  }

  private take(work: unknown, rest: readonly unknown[]): EnqueueResult {
    const job = typeof work === 'string' ? this.typedJob(work, rest[0], rest[1]) : this.functionJob(work, rest[0]);
    const result = this.store.add(job);
    if (result.outcome === 'stored') this.parts.onSubmitted?.(job);
    return result;
  }

  /** One ending at a time: a stop cuts a join short that would take too long. */
  private drain(): Promise<void> {
    this.ending ??= this.finish().finally(() => (this.ending = undefined));
    return this.ending;
  }

  private async finish(): Promise<void> {
    await this.watch.until(() => this.isCut || this.store.size === 0);
    this.isClosed = true;
    const waiting = this.store.clear();
    await this.worker?.stop(0, graceMs);
    this.worker = undefined;
    this.isStarted = false;
    const count = waiting + this.store.clear();
    if (count > 0) this.events.emit('dropped', { count });
  }

  private typedJob(type: string, payload: unknown, options: unknown): NewJob {
    checkJobType(type);
    this.parts.beforeClaim?.();
    const handler = this.handlers.get(type);
    // Before the start handlers may still be on their way; after it nobody else could run the job.
    if (handler === undefined && this.isStarted) {
      const known = this.handlers.types().map((name) => `'${name}'`);
      throw new UnknownJobTypeError(
        `no handler is registered for job type '${type}'; known are ${known.join(', ') || 'none'}`,
      );
    }
    refuseTransactional(handler);
    const text = encodePayload(payload, largestPayload);
    checkNow(handler?.policy.schema, type, text);
    return this.newJob({ type, payload: text, run: undefined, request: { options, handler, payload } });
  }

  private functionJob(work: unknown, options: unknown): NewJob {
    if (typeof work === 'function') {
      const run = work as NewJob['run'];
      return this.newJob({ type: 'job', payload: '', run, request: { options } });
    }
    if (typeof work === 'object' && work !== null && 'run' in work && typeof work.run === 'function') {
      const job = work as MemoryJob;
      const type = job.name === undefined ? 'job' : checkJobType(job.name);
      return this.newJob({ type, payload: '', run: (context) => job.run(context), request: { options } });
    }
    throw new InvalidHandlerError(
      `submit takes a function, an object with a run() method, or a job type with its payload, got ${show(work)}`,
    );
  }

  private newJob(given: GivenJob): NewJob {
    return makeMemoryJob(`memory-${++this.submitted}`, given, this.options);
  }

  private makeWorker(): Worker {
    const { events, clock, store, options, handlers } = this;
    const sink = this.parts.sink ?? jobsLogger();
    const limits = new ConcurrencyLimits(handlers, options.handlers);
    const parts = {
      store,
      events,
      clock,
      executor: new Executor(handlers, options, { wrap: makeRunWrapper(options) }),
      makeLogger: (job: Pick<NewJob, 'id' | 'type'>) => attemptLogger(sink, job),
      keeper: undefined,
      notes: new NoteWriter(store, events),
      desk: new ClaimDesk({ disown: () => store.disown(), clock, intervalMs: Infinity }),
      seat: new SuspectSeat(),
      claimTypes: () => undefined,
      limits: () => limits.get(),
      held: () => worker.held(),
    };
    const worker: Worker = new Worker(parts, memoryWorkerSettings);
    return worker;
  }
}
