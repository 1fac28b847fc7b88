import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import type { Engine } from '../runtime/engine.js';
import type { OpenedStore, StoreDoor } from './store-door.js';
import { graceMs } from './queue-parts.js';
import type { Scheduling } from './scheduling.js';

export interface PersistentRunnerParts {
  readonly door: StoreDoor;
  readonly scheduling: Scheduling;
  /** Makes the engine of the n-th start, with a name of its own. */
  readonly makeEngine: (opened: OpenedStore, serial: number) => Engine;
  readonly options: Pick<ResolvedPersistentOptions, 'shutdownTimeout'>;
  /** Called each time when it has stopped. */
  readonly onStopped: () => void;
}

/** Starts and stops the engine of a persistent queue, and its schedules: in whatever order that is asked for, and at the same time. */
export class PersistentRunner {
  private engines = 0;
  private current: Engine | undefined;
  private isStarted = false;
  /** Counts starts and stops, so that a stop which arrives during a start wins. */
  private changes = 0;
  private stopping: Promise<void> | undefined;

  constructor(private readonly parts: PersistentRunnerParts) {}

  /** The engine, while there is one. */
  get engine(): Engine | undefined {
    return this.current;
  }

  /** The engine of the queue that has not been started yet, too. */
  async ready(): Promise<Engine> {
    return this.engineOf(await this.parts.door.ready());
  }

  async start(workers: number): Promise<void> {
    const { door, scheduling } = this.parts;
    door.refuseIfClosed();
    const change = ++this.changes;
    await this.stopping;
    await scheduling.prepare();
    const opened = await door.ready();
    if (change !== this.changes || this.isStarted) return;
    this.isStarted = true;
    this.engineOf(opened).start(workers);
    scheduling.start();
  }

  stop(): Promise<void> {
    this.changes += 1;
    this.stopping ??= this.halt().finally(() => (this.stopping = undefined));
    return this.stopping;
  }

  private async halt(): Promise<void> {
    const unscheduled = this.parts.scheduling.stop();
    await this.current?.stop(this.parts.options.shutdownTimeout, graceMs);
    await unscheduled;
    this.current = undefined;
    this.isStarted = false;
    this.parts.onStopped();
  }

  private engineOf(opened: OpenedStore): Engine {
    this.current ??= this.parts.makeEngine(opened, ++this.engines);
    return this.current;
  }
}
