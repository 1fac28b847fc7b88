import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import { describeError } from '../model/failure.js';

/** What a queue must offer to live with the app. */
interface RunningQueue {
  start(): unknown;
  stop(): Promise<void>;
}

/** A queue over a store that is opened and closed. */
export interface StoredQueue extends RunningQueue {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** The parts of one `JobsModule`. */
export interface JobsRuntimeParts {
  /** Absent where a test double stands in its place. */
  readonly memory: RunningQueue | undefined;
  /** Absent where it is switched off, and where a test double stands in its place. */
  readonly persistent: StoredQueue | undefined;
  readonly autoStart: boolean;
  /** Registers the handlers, once all providers are made. What it throws fails the start of the app. */
  readonly discover: () => void | Promise<void>;
  /** The runtimes of all `JobsModule`s of the app, this one included. */
  readonly siblings: () => readonly JobsRuntime[];
  readonly logError: (message: string) => void;
}

/**
 * Lets the queues live and end with the app. Its module is the last to start and the first to stop, so:
 *
 * - when it finds handlers and opens the store, every other `onModuleInit` has run; when it starts workers, every
 *   `onApplicationBootstrap` has, and none of them has failed;
 * - when it drains the queues, the services that running jobs use are still open. Jobs can be enqueued until the end, since HTTP
 *   requests are answered until then; the store is closed just before TypeORM closes the DataSource.
 */
export class JobsRuntime implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private isStopped = false;
  private draining: Promise<void> | undefined;

  constructor(private readonly parts: JobsRuntimeParts) {}

  async onModuleInit(): Promise<void> {
    this.isStopped = false;
    await this.parts.discover();
    await this.parts.persistent?.open();
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.parts.autoStart || this.isStopped) return;
    this.parts.memory?.start();
    await this.parts.persistent?.start();
  }

  /** Drains the queues of all `JobsModule`s at once: one after the other their time limits would add up. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.parts.siblings().map((runtime) => runtime.drain()));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.end('close the persistent queue', () => this.parts.persistent?.close());
  }

  /** Stops both queues at the same time and waits for their running jobs. A second call waits for the first. */
  drain(): Promise<void> {
    this.isStopped = true;
    this.draining ??= this.stopQueues().finally(() => (this.draining = undefined));
    return this.draining;
  }

  private async stopQueues(): Promise<void> {
    await Promise.all([
      this.end('stop the memory queue', () => this.parts.memory?.stop()),
      this.end('stop the persistent queue', () => this.parts.persistent?.stop()),
    ]);
  }

  /** What fails here must not keep the rest of the app from closing. */
  private async end(what: string, action: () => Promise<void> | undefined): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.parts.logError(`could not ${what}: ${describeError(error)}`);
    }
  }
}
