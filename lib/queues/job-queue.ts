import type { Observable } from 'rxjs';
import type { RegisterOptions } from '../handlers/handler-options.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import type { BatchRecord } from '../model/batch.js';
import { systemClock, type Clock } from '../model/clock.js';
import type { SubmitOptions } from '../model/enqueue-options.js';
import type { EnqueueResult } from '../model/enqueue-result.js';
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
import type { NewJob } from '../model/job.js';
import { resolveMemoryOptions, type MemoryQueueOptions, type ResolvedMemoryOptions } from '../model/queue-options.js';
import type { PayloadSchema, SchemaOutput } from '../model/payload-schema.js';
import { attachJobLog, jobsLogger, type JobLog, type LogSink } from '../observe/job-log.js';
import { Watch } from '../runtime/watch.js';
import type { Worker } from '../runtime/worker.js';
import type { JobEvent } from '../model/job-event.js';
import { MemoryStore } from '../stores/memory/memory-store.js';
import { resolveBatch, resolveChain, type BatchRequest, type EnqueuedBatch } from './batch-request.js';
import { describeMemoryBatch, memoryBatch, type MemoryEnd, type MemoryJobs, type MemorySteps } from './memory-batch.js';
import { largestPayload, MemoryJobMaker, type MemoryJob } from './memory-job-maker.js';
import { describeWork } from './memory-work.js';
import { EnqueueLayers } from './enqueue-layers.js';
import type { JobSchedules } from './job-schedules.js';
import { checkRoom } from './memory-room.js';
import { makeMemoryWorker } from './memory-worker.js';
import { graceMs, publisherOf, type QueueParts } from './queue-parts.js';
import { registerFunction } from './register.js';
import { memoryScheduling, type Scheduling } from './scheduling.js';
import { TypeLimits } from './type-limits.js';

/**
 * Runs jobs in this process: functions, job objects, and payloads for registered handlers. Fast and without any
 * store, so what waits is lost when the process ends; `PersistentJobQueue` is for what must not be lost.
 */
export class JobQueue {
  /** The handlers that `submit('type', payload)` runs. */
  readonly handlers: HandlerRegistry;
  /** Recurring jobs, kept in memory: they begin with this process and end with it, and keep it from ending by itself. */
  readonly schedules: JobSchedules;
  private readonly options: ResolvedMemoryOptions;
  private readonly events: JobEvents;
  private readonly clock: Clock;
  private readonly store: MemoryStore;
  private readonly watch = new Watch();
  private readonly layers: EnqueueLayers | undefined;
  private readonly sink: LogSink;
  private readonly log: JobLog;
  private readonly scheduling: Scheduling;
  private readonly limits: TypeLimits;
  private worker: Worker | undefined;
  private isStarted = false;
  private isClosed = false;
  private isCut = false;
  private ending: Promise<void> | undefined;
  private readonly maker: MemoryJobMaker;

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
    this.store = new MemoryStore(this.clock, () => this.watch.notify(), parts.onSubmitted);
    this.limits = new TypeLimits(this.handlers, this.options.handlers);
    const isStarted = (): boolean => this.isStarted;
    this.maker = new MemoryJobMaker({ options: this.options, handlers: this.handlers, isStarted });
    this.sink = parts.sink ?? jobsLogger();
    this.layers = EnqueueLayers.of(this.options.middleware, this.sink);
    this.log = attachJobLog(this.events, this.sink, 'memory');
    this.scheduling = memoryScheduling({
      clock: this.clock,
      sink: this.sink,
      onSchedules: parts.onSchedules,
      maxPayloadSize: largestPayload,
      knownTypes: () => this.handlers.types(),
      makeJob: (type, payload, given) => this.maker.make(type, [payload, given]),
      add: (job) => {
        this.refuse(1);
        return this.put(job).id;
      },
      holds: (id) => this.store.holds(id),
    });
    this.schedules = this.scheduling.schedules;
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
   * Takes jobs that belong together, all or none. When all of them are over, one job follows: `onComplete` when all have completed, else
   * `onFailure`; it finds out more in `job.batch`.
   *
   * @throws as `submit` does.
   */
  submitBatch<N extends JobType, F extends JobType>(jobs: MemoryJobs<N>, options: MemoryEnd<F> = {}): EnqueuedBatch {
    return this.submitAll(resolveBatch(jobs, options));
  }

  /** Takes a chain: each step, a job or several at the same time, when the one before has completed. See `submitBatch`. */
  submitChain<N extends JobType, F extends JobType>(steps: MemorySteps<N>, options: MemoryEnd<F> = {}): EnqueuedBatch {
    return this.submitAll(resolveChain(steps, options));
  }

  /** How far a batch or a chain has come; `undefined` when it is over. */
  batch(id: string): BatchRecord | undefined {
    return this.store.batches.find(id);
  }

  /**
   * Takes back a job: one that waits, for its turn or for a retry, never runs; of one that runs the `signal` is aborted and no retry
   * follows. Says what it was: `notFound` stands for jobs that are over as well.
   */
  cancel(id: string): ControlResult {
    const found = this.store.cancel(id);
    this.watch.notify();
    if (found === undefined) return { result: 'notFound' };
    if (found === 'pending') {
      this.worker?.freed();
      return { result: 'done', from: 'pending' };
    }
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
    this.ownWorker().start(this.options.workers);
    this.scheduling.start();
  }

  /** Runs one job that is due to its end; resolves to `true` if there was one. Workers need not be started for it. */
  tick(): Promise<boolean> {
    this.parts.beforeClaim?.();
    return this.ownWorker().runOne();
  }

  /** Milliseconds until the first job may start that waits for its time; `undefined` for none. For tests. @internal */
  untilDueMs(): number | undefined {
    return this.store.untilNextMs;
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
    await this.watch.until(() => this.worker === undefined || !this.store.hasWorkUntil(deadline), shutdownTimeout);
    this.isCut = true;
    this.watch.notify();
    await ended;
  }

  private submitOne(work: unknown, rest: readonly unknown[]): EnqueueResult {
    this.refuse(1);
    if (this.layers === undefined) return this.take(work, rest);
    return this.layers.aroundSync([describeWork(work, rest)], () => this.take(work, rest));
  }

  private take(work: unknown, rest: readonly unknown[]): EnqueueResult {
    if (typeof work === 'string') this.parts.beforeClaim?.();
    return this.put(this.maker.make(work, rest));
  }

  private submitAll(batch: BatchRequest): EnqueuedBatch {
    this.refuse(Math.max(1, ...batch.steps.map(({ length }) => length)));
    const take = (): EnqueuedBatch => {
      this.parts.beforeClaim?.();
      const made = memoryBatch(batch, this.maker);
      this.limits.learn([...made.steps.flat(), made.onComplete, made.onFailure]);
      return { id: made.id, jobIds: this.store.addBatch(made).jobIds };
    };
    return this.layers === undefined ? take() : this.layers.aroundSync(describeMemoryBatch(batch), take);
  }

  private refuse(count: number): void {
    checkRoom({ isClosed: this.isClosed, waiting: this.store.waiting, maxQueued: this.options.maxQueued }, count);
  }

  private put(job: NewJob): EnqueueResult {
    this.limits.learn([job]);
    const result = this.store.add(job);
    if (result.outcome === 'stored') this.parts.onSubmitted?.(job);
    return result;
  }

  private ownWorker(): Worker {
    const { events, clock, store, options, handlers, sink, limits } = this;
    return (this.worker ??= makeMemoryWorker({ events, clock, store, options, handlers, sink, limits }));
  }

  /** One ending at a time: a stop cuts a join short that would take too long. */
  private drain(): Promise<void> {
    this.ending ??= this.finish().finally(() => (this.ending = undefined));
    return this.ending;
  }

  private async finish(): Promise<void> {
    const unscheduled = this.scheduling.stop();
    await this.watch.until(() => this.isCut || this.store.size === 0);
    this.isClosed = true;
    const waiting = this.store.clear();
    await this.worker?.stop(0, graceMs);
    await unscheduled;
    this.worker = undefined;
    this.isStarted = false;
    const count = waiting + this.store.clear();
    if (count > 0) this.events.emit('dropped', { count });
    this.log.flush();
  }
}
