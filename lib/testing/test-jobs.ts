import type { HarnessedParts, InstanceHarness } from '../jobs.harness.js';
import { checkInteger, checkKnownKeys, checkOneOf } from '../model/check.js';
import { InvalidOptionError } from '../model/errors.js';
import type { QueueKind } from '../model/job-event.js';
import type { JobMiddleware } from '../model/job-middleware.js';
import type { JobType, PayloadOf } from '../model/job-payloads.js';
import type { NewJob } from '../model/job.js';
import { decodePayload } from '../model/payload.js';
import { recordRuns, type JobRun } from './job-run.js';
import { performJob, type Performed, type PerformOptions } from './perform.js';
import type { TestClock } from './test-clock.js';
import { TestStore } from './test-store.js';

/** When jobs run in a test: when they are told to, or as soon as they are enqueued. */
export type TestingMode = 'manual' | 'inline';

/** A job that was enqueued in a test. */
export interface EnqueuedTestJob<T extends string = string> {
  readonly id: string;
  readonly type: T;
  readonly payload: PayloadOf<T>;
  readonly kind: QueueKind;
  readonly queue: string;
  readonly priority: number;
  readonly tags: readonly string[];
  /** Epoch milliseconds at which it is due first. */
  readonly runAt: number;
  readonly uniqueKey: string | undefined;
  /** Of the jobs with this key one runs at a time. */
  readonly key: string | undefined;
  /** The batch or chain that it is a member of. */
  readonly batchId: string | undefined;
}

/** How far `drain` goes. */
export interface DrainOptions {
  /** Whether to let the time pass until the next job is due, again and again, so that delays and retries run as well. Default false. */
  advance?: boolean;
  /** The most attempts; a job that enqueues itself would never end. Default 1 000. */
  limit?: number;
}

/** The jobs of one `JobsModule` in a test, of both its queues. */
export class TestJobs {
  /** All attempts so far, the oldest first. */
  readonly ran: JobRun[] = [];
  private readonly all: EnqueuedTestJob[] = [];
  private readonly failures = new Map<string, Error[]>();
  private store: TestStore | undefined;
  private parts: HarnessedParts | undefined;
  private inline: Promise<unknown> = Promise.resolve();
  /** The jobs whose handlers have been called. */
  private readonly begun = new Set<string>();
  /** When the schedules were looked at last. */
  private lookedAt = -Infinity;

  /** For the module. */
  constructor(
    /** The time of the jobs. */
    readonly clock: TestClock,
    private readonly mode: TestingMode,
  ) {}

  /** Fires the slots of schedules that have come, and runs one job that is due; says what came of it, or `undefined` where none is. */
  async tick(): Promise<JobRun | undefined> {
    const { persistent, memory } = this.attached();
    const before = this.ran.length;
    await this.look();
    const hasRun = (await persistent?.tick()) === true || (await memory?.tick()) === true;
    return hasRun ? this.ran[before] : undefined;
  }

  /**
   * Runs all jobs that are due, and those that they enqueue; says what came of each attempt.
   *
   * @throws InvalidOptionError when after `limit` attempts there is still more to do.
   */
  async drain(options: DrainOptions = {}): Promise<readonly JobRun[]> {
    const given = checkKnownKeys('the options of drain', options, ['advance', 'limit']);
    const advance = checkOneOf('advance', given['advance'] ?? false, [true, false] as const);
    const limit = checkInteger('limit', given['limit'] ?? 1_000, 1, 1_000_000);
    await this.inline;
    const start = this.ran.length;
    for (let count = 0; (await this.tick()) !== undefined || (advance && this.advanceToNext()); count += 1) {
      if (count < limit) continue;
      throw new InvalidOptionError(
        `drain ran ${limit} jobs and there are more: does a job enqueue one like itself? If not, give drain a higher limit`,
      );
    }
    return this.ran.slice(start);
  }

  /** The jobs that were stored so far, of one type or of all, the oldest first; also those that have run since. */
  enqueued<T extends JobType>(type: T): readonly EnqueuedTestJob<T>[];
  enqueued(): readonly EnqueuedTestJob[];
  enqueued(type?: string): readonly EnqueuedTestJob[] {
    return this.all.filter((job) => type === undefined || job.type === type);
  }

  /** Lets the next attempt at a job of this type fail with this error, before its handler is called. Said twice, it does so for the next two. */
  failNext(type: JobType, error: Error = new Error(`failNext('${type}')`)): void {
    this.failures.set(type, [...(this.failures.get(type) ?? []), error]);
  }

  /**
   * Runs the handler of a job type once, as a unit: the payload is checked as by `enqueue` and by its schema, middleware runs around it, and nothing is
   * stored. What it throws is in the answer.
   *
   * @throws UnknownJobTypeError | InvalidOptionError; InvalidPayloadError where JSON cannot carry the payload.
   */
  perform<T extends JobType>(type: T, payload: PayloadOf<T>, options: PerformOptions = {}): Promise<Performed> {
    const { registry, options: queue } = this.attached();
    return performJob({ registry, options: queue, type, payload, given: options });
  }

  /** Forgets what was enqueued, what has run, and what is to fail. Jobs that wait stay. */
  clear(): void {
    this.all.length = 0;
    this.ran.length = 0;
    this.failures.clear();
    this.begun.clear();
  }

  /** @internal What the `JobsModule` works with. */
  get harness(): InstanceHarness {
    return {
      clock: this.clock,
      middleware: this.middleware(),
      openStore: async (dataSource) => {
        const onStored = (jobs: readonly NewJob[]): void => jobs.forEach((job) => this.record(job, 'persistent'));
        this.store = new TestStore({ clock: this.clock, dataSource, onStored, onCommitted: () => this.runInline() });
        return this.store;
      },
      onSubmitted: (job) => this.record(job, 'memory'),
      attach: (parts) => {
        this.parts = parts;
        for (const queue of ['memory', 'persistent'] as const) {
          recordRuns(parts.events[queue], queue, (run) => this.tell(run));
        }
      },
      discovered: () => this.look(),
    };
  }

  private middleware(): JobMiddleware {
    return {
      enqueue: async (jobs, next) => {
        await next();
        if (jobs[0]?.queue === 'memory') this.inline = this.inline.then(() => this.runInline());
        else await this.runInline();
      },
      run: async ({ id, type }, next) => {
        this.begun.add(id);
        const [error, ...rest] = this.failures.get(type) ?? [];
        this.failures.set(type, rest);
        if (error !== undefined) throw error;
        return next();
      },
    };
  }

  private async runInline(): Promise<void> {
    if (this.mode !== 'inline' || this.parts === undefined) return;
    while ((await this.tick()) !== undefined);
  }

  /** Looks at the schedules. Slots since the look before are on time, but for those of an outage. */
  private async look(): Promise<void> {
    const { persistent, memory } = this.attached();
    const watchedFrom = Math.max(this.lookedAt, this.clock.watchedFrom);
    this.lookedAt = this.clock.now();
    await persistent?.schedules.lookOnce(watchedFrom);
    await memory?.schedules.lookOnce(watchedFrom);
  }

  /** A job that is given back before its handler was called, since it has to be claimed in another way, is of no interest. */
  private tell(run: JobRun): void {
    if (run.outcome !== 'released' || this.begun.has(run.id)) this.ran.push(run);
  }

  private advanceToNext(): boolean {
    const waits = [this.store?.untilDueMs(), this.attached().memory?.untilDueMs()].filter((ms) => ms !== undefined);
    if (waits.length === 0) return false;
    this.clock.advance(Math.ceil(Math.min(...waits)));
    return true;
  }

  private record(job: NewJob, kind: QueueKind): void {
    this.all.push({
      id: job.id,
      type: job.type,
      payload: job.run === undefined ? decodePayload(job.payload) : undefined,
      kind,
      queue: job.queue ?? 'default',
      priority: job.priority ?? 0,
      tags: job.tags ?? [],
      runAt: job.runAt ?? this.clock.now() + (job.delayMs ?? 0),
      uniqueKey: job.uniqueKey,
      key: job.key,
      batchId: job.batchId,
    });
  }

  private attached(): HarnessedParts {
    if (this.parts !== undefined) return this.parts;
    throw new InvalidOptionError(
      'the testing kit found no JobsModule of this name: import JobsModule.forRoot() in the app, and init() the app before its jobs are looked at',
    );
  }
}
