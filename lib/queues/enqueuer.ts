import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { NewBatch } from '../model/batch-progress.js';
import { resolveEnqueueOptions, type EnqueueOptions } from '../model/enqueue-options.js';
import type { EnqueueResult } from '../model/enqueue-result.js';
import type { NewJob } from '../model/job.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import type { LogSink } from '../observe/job-log.js';
import { managerFor } from './ambient-transaction.js';
import { EnqueueLayers } from './enqueue-layers.js';
import { JobMaker } from './job-maker.js';
import { requestsOf, type BatchRequest, type EnqueuedBatch } from './batch-request.js';
import { describeRequest, makeEach, makeOne } from './job-request.js';
import type { StoreDoor } from './store-door.js';

export interface EnqueuerParts {
  readonly options: ResolvedPersistentOptions;
  readonly handlers: HandlerRegistry;
  readonly door: StoreDoor;
  readonly sink: Pick<LogSink, 'error'>;
}

/** The way of a job from its caller into the store: through the middleware, checked, in the transaction that it belongs to. */
export class Enqueuer {
  private readonly maker: JobMaker;
  private readonly layers: EnqueueLayers | undefined;

  constructor(private readonly parts: EnqueuerParts) {
    this.maker = new JobMaker(parts.options, parts.handlers);
    this.layers = EnqueueLayers.of(parts.options.middleware, parts.sink);
  }

  place(type: string, payload: unknown, options: EnqueueOptions | undefined): Promise<EnqueueResult> {
    const store = (): Promise<EnqueueResult> => this.storeOne(type, payload, options);
    if (this.layers === undefined) return store();
    return this.layers.around([{ queue: 'persistent', type, payload, options: options ?? {} }], store);
  }

  placeAll(requests: unknown, options: Pick<EnqueueOptions, 'manager'>): Promise<readonly EnqueueResult[]> {
    const store = (): Promise<readonly EnqueueResult[]> => this.storeAll(requests, options);
    if (this.layers === undefined || !Array.isArray(requests)) return store();
    return this.layers.around(requests.map(describeRequest), store);
  }

  placeBatch(batch: BatchRequest): Promise<EnqueuedBatch> {
    const store = (): Promise<EnqueuedBatch> => this.storeBatch(batch);
    if (this.layers === undefined) return store();
    const described = requestsOf(batch).map(([, request]) => describeRequest(request));
    return this.layers.around(described, store);
  }

  /** A job of a schedule: nobody calls for it, so there is no middleware and no transaction around. @throws as `place` does. */
  async make(type: string, payload: unknown, options: unknown): Promise<NewJob> {
    const job = this.maker.make(type, payload, options);
    await this.maker.check(job);
    return job;
  }

  private async storeOne(type: string, payload: unknown, options: EnqueueOptions | undefined): Promise<EnqueueResult> {
    const job = this.maker.make(type, payload, options);
    const checking = this.maker.check(job);
    if (checking !== undefined) await checking;
    const { store, placer } = await this.parts.door.now();
    return placer.place(job, managerFor(options?.manager, this.parts.options.transaction, store));
  }

  private async storeAll(
    requests: unknown,
    options: Pick<EnqueueOptions, 'manager'>,
  ): Promise<readonly EnqueueResult[]> {
    const { manager } = resolveEnqueueOptions(options);
    const made = makeEach(requests, ({ type, payload, ...rest }) => this.maker.make(type, payload, rest));
    if (this.parts.handlers.hasSchemas) {
      await this.maker.checkEach(made.map((job, index) => [`jobs[${index}]`, job] as const));
    }
    const { store, placer } = await this.parts.door.ready();
    return placer.placeAll(made, managerFor(manager, this.parts.options.transaction, store));
  }

  private async storeBatch({ steps, onComplete, onFailure, manager }: BatchRequest): Promise<EnqueuedBatch> {
    const made: (readonly [string, NewJob])[] = [];
    const make = ([place, request]: readonly [string, unknown]): NewJob => {
      const job = makeOne(place, request, ({ type, payload, ...rest }) => this.maker.make(type, payload, rest));
      made.push([place, job]);
      return job;
    };
    const batch: NewBatch = {
      id: this.maker.newId(),
      steps: steps.map((step) => step.map(make)),
      onComplete: onComplete === undefined ? undefined : make(['onComplete', onComplete]),
      onFailure: onFailure === undefined ? undefined : make(['onFailure', onFailure]),
    };
    if (this.parts.handlers.hasSchemas) await this.maker.checkEach(made);
    const { store } = await this.parts.door.ready();
    const { jobIds } = await store.batches.insert(batch, managerFor(manager, this.parts.options.transaction, store));
    return { id: batch.id, jobIds };
  }
}
