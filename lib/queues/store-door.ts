import { QueueClosedError } from '../model/errors.js';
import { ProcessIdentity } from '../runtime/process-identity.js';
import type { AdministeredStore } from '../stores/job-store.js';
import { JobPlacer } from './job-placer.js';

/** What a queue has once its store is open. */
export interface OpenedStore {
  readonly store: AdministeredStore;
  readonly placer: JobPlacer;
  readonly identity: ProcessIdentity;
}

/** The way of one queue to its store: opened once, on demand, tried again after a failure, and closed for good. */
export class StoreDoor {
  private opening: Promise<void> | undefined;
  private opened: OpenedStore | undefined;
  private isClosed = false;

  /** @param make Makes the store once its DataSource is there; called again after it has failed. */
  constructor(private readonly make: () => Promise<AdministeredStore>) {}

  /** @throws QueueClosedError; whatever keeps the store from being opened. */
  async ready(): Promise<OpenedStore> {
    this.refuseIfClosed();
    this.opening ??= this.open();
    try {
      await this.opening;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
    this.refuseIfClosed();
    if (this.opened === undefined) throw closedError();
    return this.opened;
  }

  /** The same without a wait where it is open already. */
  async now(): Promise<OpenedStore> {
    const opened = this.opened ?? (await this.ready());
    this.refuseIfClosed();
    return opened;
  }

  refuseIfClosed(): void {
    if (this.isClosed) throw closedError();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.opening?.catch(() => undefined);
    const { opened } = this;
    this.opened = undefined;
    await opened?.identity.forget();
    await opened?.store.close();
  }

  private async open(): Promise<void> {
    const store = await this.make();
    try {
      await store.open();
    } catch (error) {
      await store.close();
      throw error;
    }
    this.opened = { store, placer: new JobPlacer(store), identity: await ProcessIdentity.create() };
  }
}

function closedError(): QueueClosedError {
  return new QueueClosedError('the persistent queue is closed; enqueue before the app shuts down');
}
