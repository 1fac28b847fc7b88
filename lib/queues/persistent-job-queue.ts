import type { Observable } from 'rxjs';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import { systemClock, type Clock } from '../model/clock.js';
import { resolveEnqueueOptions, type EnqueueOptions } from '../model/enqueue-options.js';
import { QueueClosedError } from '../model/errors.js';
import { JobEvents, type JobEventKind } from '../model/events.js';
import type { JobEvent } from '../model/job-event.js';
import type { HandlerFor, JobPayloads, JobType, PayloadArguments, PayloadOf } from '../model/job-payloads.js';
import {
  checkWorkers,
  resolvePersistentOptions,
  type PersistentQueueOptions,
  type ResolvedPersistentOptions,
} from '../model/queue-options.js';
import { attachJobLog, jobsLogger, type LogSink } from '../observe/job-log.js';
import type { Engine } from '../runtime/engine.js';
import { ProcessIdentity } from '../runtime/process-identity.js';
import type { JobStore } from '../stores/job-store.js';
import { openTypeOrmStore } from '../stores/open-typeorm-store.js';
import { managerFor } from './ambient-transaction.js';
import { EnqueueLayers } from './enqueue-layers.js';
import { InsertBatcher } from './insert-batcher.js';
import { JobMaker } from './job-maker.js';
import { describeRequest, makeEach, type JobRequest } from './job-request.js';
import { graceMs, publisherOf, type QueueParts } from './queue-parts.js';
import { makePersistentEngine } from './persistent-engine.js';
import { storeSettings } from './store-settings.js';
import { registerFunction } from './register.js';

/** What a persistent queue is made of. */
export interface PersistentQueueParts extends QueueParts {
  /** Makes the store once its DataSource is there; called again after it has failed. */
  readonly openStore: () => Promise<JobStore>;
}

/** What a queue has once its store is open. */
interface Opened {
  readonly store: JobStore;
  readonly batcher: InsertBatcher;
  readonly identity: ProcessIdentity;
}

/**
 * Runs jobs that live in the app's own database. An acknowledged job is not lost, whatever dies; one that nobody interrupts runs exactly once.
 */
export class PersistentJobQueue {
  /** The handlers that this process can run. */
  readonly handlers: HandlerRegistry;
  private readonly options: ResolvedPersistentOptions;
  private readonly events: JobEvents;
  private readonly clock: Clock;
  private readonly sink: LogSink;
  private readonly maker: JobMaker;
  private readonly layers: EnqueueLayers | undefined;
  private opening: Promise<void> | undefined;
  private opened: Opened | undefined;
  private engines = 0;
  private engine: Engine | undefined;
  private isStarted = false;
  private isClosed = false;
  /** Counts starts and stops, so that a stop which arrives during a start wins. */
  private changes = 0;
  private stopping: Promise<void> | undefined;

  /**
   * For the module; without Nest use `PersistentJobQueue.create`.
   *
   * @throws InvalidOptionError
   */
  constructor(
    options: PersistentQueueOptions,
    private readonly parts: PersistentQueueParts,
  ) {
    this.options = resolvePersistentOptions(options);
    this.handlers = parts.registry ?? new HandlerRegistry();
    this.events = parts.events ?? new JobEvents();
    this.clock = parts.clock ?? systemClock;
    this.sink = parts.sink ?? jobsLogger();
    this.maker = new JobMaker(this.options, this.handlers);
    this.layers = EnqueueLayers.of(this.options.middleware, this.sink);
    attachJobLog(this.events, this.sink, 'persistent');
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
    const openStore = (): Promise<JobStore> => openTypeOrmStore(dataSource, storeSettings(resolved, sink, parts.clock));
    const queue = new PersistentJobQueue(options, { ...parts, sink, openStore });
    await queue.open();
    await queue.engineOf(await queue.ready()).recover();
    return queue;
  }

  /**
   * Registers the function that runs jobs of this type.
   *
   * @throws InvalidJobTypeError | InvalidHandlerError | DuplicateHandlerError
   */
  register<T extends JobType, P = PayloadOf<T>>(type: T, handler: HandlerFor<T, P>): void {
    registerFunction(this.handlers, type, handler);
    this.engine?.wake();
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
  enqueue(type: string, payload?: unknown, options?: EnqueueOptions): Promise<string> {
    const { layers } = this;
    if (layers === undefined) return this.enqueueOne(type, payload, options);
    const job = { queue: 'persistent', type, payload, options: options ?? {} } as const;
    return layers.around([job], () => this.enqueueOne(type, payload, options));
  }

  /** Like `enqueue`, with the number of retries after the first attempt. */
  enqueueWithRetries<T extends JobType>(type: T, payload: PayloadOf<T>, maxRetries: number): Promise<string> {
    return this.enqueueJob(type, payload, { maxRetries });
  }

  /**
   * Stores many jobs, all or none, and resolves to their ids in the same order.
   *
   * @param options The transaction to join, if any.
   * @throws as `enqueue` does; nothing was stored when one of them is refused.
   */
  enqueueMany<const T extends readonly JobType[]>(
    jobs: { readonly [I in keyof T]: JobRequest<T[I]> },
    options: Pick<EnqueueOptions, 'manager'> = {},
  ): Promise<string[]> {
    const { layers } = this;
    const store = (): Promise<string[]> => this.storeMany(jobs, options);
    if (layers === undefined || !Array.isArray(jobs)) return store();
    return layers.around(jobs.map(describeRequest), store);
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
    return this.engineOf(await this.ready()).runOne();
  }

  /**
   * Starts the workers; a second call changes nothing.
   *
   * @param workers Jobs at the same time. Default: the option `workers`.
   * @throws InvalidOptionError; whatever keeps the table from being opened.
   */
  async start(workers: number = this.options.workers): Promise<void> {
    checkWorkers(workers);
    this.refuseIfClosed();
    const change = ++this.changes;
    await this.stopping;
    const opened = await this.ready();
    if (change !== this.changes || this.isStarted) return;
    this.isStarted = true;
    this.engineOf(opened).start(workers);
  }

  /**
   * Claims nothing any more and resolves when the running jobs have settled; after `shutdownTimeout` their `signal` is aborted
   * and they go back to pending, with no attempt burnt. `start()` starts again.
   */
  stop(): Promise<void> {
    this.changes += 1;
    this.stopping ??= this.halt().finally(() => (this.stopping = undefined));
    return this.stopping;
  }

  /** Makes the table usable; the other methods do this on demand. A second call waits for the first; after a failure it tries again. */
  async open(): Promise<void> {
    await this.ready();
  }

  /** Stops, and gives back the connections. Nothing can be enqueued afterwards. The DataSource stays open. */
  async close(): Promise<void> {
    await this.stop();
    this.isClosed = true;
    await this.opening?.catch(() => undefined);
    const opened = this.opened;
    this.opened = undefined;
    await opened?.identity.forget();
    await opened?.store.close();
  }

  private async halt(): Promise<void> {
    const engine = this.engine;
    await engine?.stop(this.options.shutdownTimeout, graceMs);
    this.engine = undefined;
    this.isStarted = false;
  }

  private enqueueJob(type: string, payload: unknown, options: EnqueueOptions): Promise<string> {
    return this.enqueue(type, payload, options);
  }

  private async enqueueOne(type: string, payload: unknown, options: EnqueueOptions | undefined): Promise<string> {
    const job = this.maker.make(type, payload, options);
    const checking = this.maker.check(job);
    if (checking !== undefined) await checking;
    const { store, batcher } = this.opened ?? (await this.ready());
    this.refuseIfClosed();
    const manager = managerFor(options?.manager, this.options.transaction, store);
    await (manager === undefined ? batcher.insert(job) : store.insert([job], manager));
    return job.id;
  }

  private async storeMany(requests: unknown, options: Pick<EnqueueOptions, 'manager'>): Promise<string[]> {
    const { manager } = resolveEnqueueOptions(options);
    const made = makeEach(requests, ({ type, payload, ...rest }) => this.maker.make(type, payload, rest));
    if (this.handlers.hasSchemas) await this.maker.checkEach(made);
    const { store } = await this.ready();
    this.refuseIfClosed();
    if (made.length > 0) await store.insert(made, managerFor(manager, this.options.transaction, store));
    return made.map(({ id }) => id);
  }

  private async ready(): Promise<Opened> {
    this.refuseIfClosed();
    this.opening ??= this.openStore();
    try {
      await this.opening;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
    this.refuseIfClosed();
    if (this.opened === undefined) throw this.closedError();
    return this.opened;
  }

  private async openStore(): Promise<void> {
    const store = await this.parts.openStore();
    try {
      await store.open();
    } catch (error) {
      await store.close();
      throw error;
    }
    this.opened = { store, batcher: new InsertBatcher(store), identity: await ProcessIdentity.create() };
  }

  private engineOf(opened: Opened): Engine {
    this.engine ??= this.makeEngine(opened);
    return this.engine;
  }

  private makeEngine({ store, identity }: Opened): Engine {
    const { events, clock, options, handlers, sink } = this;
    const claimTypes = (): readonly string[] | undefined => this.claimTypes();
    const owner = identity.nameOf(++this.engines);
    return makePersistentEngine({ store, identity, events, clock, options, handlers, sink, claimTypes, owner });
  }

  private claimTypes(): readonly string[] | undefined {
    this.parts.beforeClaim?.();
    return this.options.unknownTypes === 'fail' ? undefined : this.handlers.types();
  }

  private refuseIfClosed(): void {
    if (this.isClosed) throw this.closedError();
  }

  private closedError(): QueueClosedError {
    return new QueueClosedError('the persistent queue is closed; enqueue before the app shuts down');
  }
}
