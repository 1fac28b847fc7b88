import type { Observable } from 'rxjs';
import type { ReadOptions } from '../admin/admin-options.js';
import type { JobRecord } from '../admin/job-record.js';
import type { RegisterOptions } from '../handlers/handler-options.js';
import type { JobsAdmin } from '../admin/jobs-admin.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import type { BatchRecord } from '../model/batch.js';
import { systemClock, type Clock } from '../model/clock.js';
import type { ControlResult } from '../model/control-result.js';
import type { EnqueueOptions } from '../model/enqueue-options.js';
import type { EnqueueResult } from '../model/enqueue-result.js';
import { JobEvents, type JobEventKind } from '../model/events.js';
import type { JobEvent } from '../model/job-event.js';
import type {
  HandlerFor,
  HandlerWithSchema,
  JobPayloads,
  JobType,
  PayloadArguments,
  PayloadOf,
} from '../model/job-payloads.js';
import {
  checkWorkers,
  resolvePersistentOptions,
  type PersistentQueueOptions,
  type ResolvedPersistentOptions,
} from '../model/queue-options.js';
import type { PayloadSchema, SchemaOutput } from '../model/payload-schema.js';
import { attachJobLog, jobsLogger, type LogSink } from '../observe/job-log.js';
import type { Engine } from '../runtime/engine.js';
import type { AdministeredStore } from '../stores/job-store.js';
import { openTypeOrmStore } from '../stores/open-typeorm-store.js';
import { resolveBatch, resolveChain, type BatchOptions, type ChainStep, type EnqueuedBatch } from './batch-request.js';
import { Enqueuer } from './enqueuer.js';
import type { JobRequest, JobRequestOf } from './job-request.js';
import type { JobSchedules } from './job-schedules.js';
import { adminOf } from './queue-admin.js';
import { PersistentRunner } from './persistent-runner.js';
import { checkParts, publisherOf, type PersistentQueueParts, type QueueParts } from './queue-parts.js';
import { makePersistentEngine } from './persistent-engine.js';
import { registerFunction } from './register.js';
import { persistentScheduling } from './scheduling.js';
import { StoreDoor, type OpenedStore } from './store-door.js';
import { storeSettings } from './store-settings.js';

/**
 * Runs jobs that live in the app's own database. An acknowledged job is not lost, whatever dies; one that nobody interrupts runs exactly once.
 */
export class PersistentJobQueue {
  /** The handlers that this process can run. */
  readonly handlers: HandlerRegistry;
  /** Looks at the jobs in the table and controls them. */
  readonly admin: JobsAdmin;
  /** Recurring jobs. */
  readonly schedules: JobSchedules;
  private readonly options: ResolvedPersistentOptions;
  private readonly events: JobEvents;
  private readonly clock: Clock;
  private readonly sink: LogSink;
  private readonly door: StoreDoor;
  private readonly enqueuer: Enqueuer;
  private readonly runner: PersistentRunner;

  /**
   * For the module; without Nest use `PersistentJobQueue.create`.
   *
   * @throws InvalidOptionError
   */
  constructor(
    options: PersistentQueueOptions,
    private readonly parts: PersistentQueueParts,
  ) {
    checkParts(parts);
    this.options = resolvePersistentOptions(options);
    this.handlers = parts.registry ?? new HandlerRegistry();
    this.events = parts.events ?? new JobEvents();
    this.clock = parts.clock ?? systemClock;
    this.sink = parts.sink ?? jobsLogger();
    const { flush: onStopped } = attachJobLog(this.events, this.sink, 'persistent');
    this.door = new StoreDoor(parts.openStore);
    const { options: resolved, handlers, door, sink, clock } = this;
    const shared = { options: resolved, handlers, door, sink };
    this.enqueuer = new Enqueuer(shared);
    const isOut = (): boolean => this.runner.engine?.isOut === true;
    const scheduled = { ...shared, enqueuer: this.enqueuer, clock, onSchedules: parts.onSchedules, isOut };
    const scheduling = persistentScheduling(scheduled);
    this.schedules = scheduling.schedules;
    this.runner = new PersistentRunner({ door, scheduling, makeEngine: this.makeEngine, onStopped, options: resolved });
    this.admin = adminOf({ ...shared, schedules: this.schedules, engine: () => this.runner.engine });
  }

  /**
   * Makes a queue without Nest: creates or checks the table and takes back the jobs of dead workers. Register the handlers, then
   * `start()`; `close()` when done.
   *
   * @param dataSource An initialised TypeORM DataSource: better-sqlite3, postgres, mysql or mariadb.
   * @throws InvalidOptionError | UnsupportedDatabaseError | SchemaError | StoreError
   */
  static async create(
    dataSource: unknown,
    options: Omit<PersistentQueueOptions, 'dataSource'> = {},
    parts: QueueParts = {},
  ): Promise<PersistentJobQueue> {
    const resolved = resolvePersistentOptions(options);
    const sink = parts.sink ?? jobsLogger();
    const settings = storeSettings(resolved, sink, parts.clock);
    const openStore = (): Promise<AdministeredStore> => openTypeOrmStore(dataSource, settings);
    const queue = new PersistentJobQueue(options, { ...parts, sink, openStore });
    await queue.open();
    await (await queue.runner.ready()).recover();
    return queue;
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
    this.runner.engine?.wake();
  }

  /**
   * Stores a job and resolves to its id (UUID v7) once it is committed; with `{ manager }` once it is written in that
   * transaction. Before the app is ready it waits until the table is there.
   *
   * @throws InvalidJobTypeError | InvalidPayloadError | PayloadTooLargeError | InvalidOptionError: nothing was stored.
   * @throws StoreError when the database did not say whether it stored the job.
   */
  enqueue<T extends keyof JobPayloads & string>(type: T, ...rest: PayloadArguments<T, EnqueueOptions>): Promise<string>;
  enqueue<T extends string>(type: T, ...rest: PayloadArguments<T, EnqueueOptions>): Promise<string>;
  async enqueue(type: string, payload?: unknown, options?: EnqueueOptions): Promise<string> {
    return (await this.enqueuer.place(type, payload, options)).id;
  }

  /**
   * Like `enqueue`, and tells whether the job is a new one: with a `uniqueKey` or a `throttle` another one may do the work.
   *
   * @throws as `enqueue` does.
   */
  tryEnqueue<T extends keyof JobPayloads & string>(
    type: T,
    ...rest: PayloadArguments<T, EnqueueOptions>
  ): Promise<EnqueueResult>;
  tryEnqueue<T extends string>(type: T, ...rest: PayloadArguments<T, EnqueueOptions>): Promise<EnqueueResult>;
  tryEnqueue(type: string, payload?: unknown, options?: EnqueueOptions): Promise<EnqueueResult> {
    return this.enqueuer.place(type, payload, options);
  }

  /** Like `enqueue`, with the number of retries after the first attempt. */
  async enqueueWithRetries<T extends JobType>(type: T, payload: PayloadOf<T>, maxRetries: number): Promise<string> {
    return (await this.enqueuer.place(type, payload, { maxRetries })).id;
  }

  /**
   * Stores many jobs, all or none, and resolves to their ids in the same order.
   *
   * @param options The transaction to join, if any.
   * @throws as `enqueue` does; nothing was stored when one of them is refused.
   */
  async enqueueMany<const T extends readonly JobType[]>(
    jobs: { readonly [I in keyof T]: JobRequest<T[I]> },
    options: Pick<EnqueueOptions, 'manager'> = {},
  ): Promise<string[]> {
    return (await this.tryEnqueueMany(jobs, options)).map(({ id }) => id);
  }

  /** Like `enqueueMany`, and tells of each job whether it is a new one. */
  async tryEnqueueMany<const T extends readonly JobType[]>(
    jobs: { readonly [I in keyof T]: JobRequest<T[I]> },
    options: Pick<EnqueueOptions, 'manager'> = {},
  ): Promise<readonly EnqueueResult[]> {
    return this.enqueuer.placeAll(jobs, options);
  }

  /**
   * Stores jobs that belong together, all or none. When all of them are over for good, one job follows, just once: `onComplete` when
   * all have completed, else `onFailure`. It finds out more in `job.batch`. A batch without jobs completes at once.
   *
   * @throws as `enqueueMany` does.
   */
  async enqueueBatch<const T extends readonly JobType[], F extends JobType>(
    jobs: { readonly [I in keyof T]: JobRequest<T[I]> },
    options: BatchOptions<F> = {},
  ): Promise<EnqueuedBatch> {
    return this.enqueuer.placeBatch(resolveBatch(jobs, options));
  }

  /**
   * Stores a chain: each step is enqueued, just once, when all jobs of the one before have completed. A step is a job, or an array of jobs
   * that run at the same time. After the last one `onComplete` follows; a job that ends in another way ends the chain, and `onFailure` follows.
   *
   * @param steps At most 1 000. Their jobs are checked and stored now; `delay` and the like count from the moment at which they are enqueued.
   * @throws as `enqueueMany` does.
   */
  async enqueueChain<N extends JobType, F extends JobType>(
    steps: readonly ChainStep<JobRequestOf<N>>[],
    options: BatchOptions<F> = {},
  ): Promise<EnqueuedBatch> {
    return this.enqueuer.placeBatch(resolveChain(steps, options));
  }

  /** What has become of a batch or a chain. See `JobsAdmin.batch`. */
  batch(id: string): Promise<BatchRecord | undefined> {
    return this.admin.batch(id);
  }

  /** Ends a job that waits or runs, in whatever process. See `JobsAdmin.cancel`. */
  cancel(id: string): Promise<ControlResult> {
    return this.admin.cancel(id);
  }

  /** Makes a failed or cancelled job due again, as if it were new. See `JobsAdmin.retry`. */
  retry(id: string): Promise<ControlResult> {
    return this.admin.retry(id);
  }

  /** Deletes a job that waits or is over. See `JobsAdmin.delete`. */
  delete(id: string): Promise<ControlResult> {
    return this.admin.delete(id);
  }

  /** One job as it stands in the table. See `JobsAdmin.find`. */
  find(id: string, options?: ReadOptions): Promise<JobRecord | undefined> {
    return this.admin.find(id, options);
  }

  /**
   * What happens in this process to the jobs of this queue: the events of one kind, or of all. Each subscription begins with what
   * happens next, and has no end. What a subscriber throws changes nothing, and is logged once.
   */
  observe<K extends JobEventKind = JobEventKind>(kind?: K): Observable<JobEvent<K>> {
    return publisherOf('persistent', this.events, this.parts).stream(kind);
  }

  /**
   * Claims one due job, of whatever type, runs it and stores its outcome. Resolves to `true` if there was one. A job without
   * a handler fails and is retried like any other. Safe beside running workers.
   */
  async tick(): Promise<boolean> {
    this.parts.beforeClaim?.();
    return (await this.runner.ready()).runOne();
  }

  /**
   * Starts the workers; a second call changes nothing.
   *
   * @param workers Jobs at the same time. Default: the option `workers`.
   * @throws InvalidOptionError; whatever keeps the table from being opened.
   */
  async start(workers: number = this.options.workers): Promise<void> {
    if (workers !== this.options.workers) checkWorkers(workers);
    await this.runner.start(workers);
  }

  /**
   * Claims nothing any more and resolves when the running jobs have settled; after `shutdownTimeout` their `signal` is aborted
   * and they go back to pending, with no attempt burnt. `start()` starts again.
   */
  stop(): Promise<void> {
    return this.runner.stop();
  }

  /** Makes the table usable; the other methods do this on demand. A second call waits for the first; after a failure it tries again. */
  async open(): Promise<void> {
    await this.door.ready();
  }

  /** Stops, and gives back the connections. Nothing can be enqueued afterwards. The DataSource stays open. */
  async close(): Promise<void> {
    await this.stop();
    await this.door.close();
  }

  private readonly makeEngine = ({ store, identity }: OpenedStore, serial: number): Engine => {
    const { events, clock, options, handlers, sink } = this;
    const claimTypes = (): readonly string[] | undefined => this.claimTypes();
    const owner = identity.nameOf(serial);
    return makePersistentEngine({ store, identity, events, clock, options, handlers, sink, claimTypes, owner });
  };

  private claimTypes(): readonly string[] | undefined {
    this.parts.beforeClaim?.();
    return this.options.unknownTypes === 'fail' ? undefined : this.handlers.types();
  }
}
