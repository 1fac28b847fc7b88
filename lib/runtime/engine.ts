import type { Attempt } from '../execution/attempt.js';
import type { Lease } from '../model/job.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Pruner, type PrunerParts } from './pruner.js';
import type { ProcessIdentity } from './process-identity.js';
import { Upkeep } from './upkeep.js';
import { Worker, type WorkerParts, type WorkerSettings } from './worker.js';

export interface EngineSettings extends WorkerSettings {
  /** How long jobs are kept that are over; `undefined` keeps them for ever. */
  readonly keepMs: PrunerParts['keepMs'];
  readonly interruptionBackoffMs: number;
}

export interface EngineParts extends Omit<WorkerParts, 'keeper'> {
  readonly identity: Pick<ProcessIdentity, 'isDead' | 'forget'>;
}

/**
 * Worker, heartbeat and upkeep over a store that processes share; from its start to its stop, once. A queue that
 * starts again makes a new one, so that nothing of an old run can reach into the next.
 */
export class Engine {
  private readonly keeper: LeaseKeeper;
  private readonly worker: Worker;
  private readonly upkeep: Upkeep;
  private readonly pruner: Pruner | undefined;
  private stopListening: Promise<() => Promise<void>> | undefined;

  constructor(
    private readonly parts: EngineParts,
    settings: EngineSettings,
  ) {
    const { store, events, clock, claimTypes, identity } = parts;
    this.keeper = new LeaseKeeper({ store, events, clock, leaseMs: settings.leaseMs });
    this.worker = new Worker({ ...parts, keeper: this.keeper }, settings);
    const { keepMs } = settings;
    const isPruning = Object.values(keepMs).some((ms) => ms !== undefined);
    this.pruner = isPruning ? new Pruner({ store, keepMs }) : undefined;
    this.upkeep = new Upkeep(
      {
        store,
        events,
        clock,
        knownTypes: claimTypes,
        attempts: () => this.worker.attempts(),
        onRecovered: () => this.worker.wake(),
        isDead: (owner) => identity.isDead(owner),
        onForgotten: (owner) => identity.forget(owner),
      },
      settings,
    );
  }

  /** Attempts that are under way. */
  attempts(): readonly Attempt[] {
    return this.worker.attempts();
  }

  start(workers: number): void {
    this.worker.start(workers);
    this.upkeep.start();
    this.pruner?.start();
    this.stopListening = this.parts.store.listen(() => this.worker.wake());
    // Waking is a hint; without it the poll finds the job.
    this.stopListening.catch(() => undefined);
  }

  /** Looks for the jobs of dead workers, claims one job of any type, and runs it to its end. */
  async runOne(): Promise<boolean> {
    await this.upkeep.recover();
    return this.worker.runOne();
  }

  /** Takes back the jobs of dead workers. */
  async recover(): Promise<void> {
    await this.upkeep.recover();
  }

  /** These claims stand no longer, since their jobs were cancelled: their attempts are told to end. */
  cancel(claims: readonly Lease[]): void {
    this.worker.cancel(claims);
  }

  wake(): void {
    this.worker.wake();
  }

  /** See `Worker.stop`. The heartbeat goes on until every outcome is stored. */
  async stop(timeoutMs: number, graceMs: number): Promise<void> {
    const stopListening = this.stopListening?.then((stop) => stop()).catch(() => undefined);
    void this.upkeep.stop();
    void this.pruner?.stop();
    await this.worker.stop(timeoutMs, graceMs);
    await Promise.race([Promise.all([this.keeper.stop(), stopListening]), pause(graceMs)]);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
