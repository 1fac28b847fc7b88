import type { Attempt } from '../execution/attempt.js';
import type { Lease } from '../model/job.js';
import type { QueueScope } from '../stores/job-store.js';
import { ClaimDesk } from './claim-desk.js';
import { withDeadline } from './deadline.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Pruner, type PrunerParts } from './pruner.js';
import type { ProcessIdentity } from './process-identity.js';
import { SuspectSeat } from './suspect-seat.js';
import { Upkeep } from './upkeep.js';
import { Worker } from './worker.js';
import type { WorkerParts, WorkerSettings } from './worker-parts.js';

export interface EngineSettings extends Omit<WorkerSettings, 'queues'> {
  /** Queues that have workers of their own, and how many. */
  readonly queues: Readonly<Record<string, number>>;
  /** How long jobs are kept that are over, unless their handler said otherwise; `undefined` keeps them for ever. */
  readonly keepMs: PrunerParts['keepMs'];
  readonly interruptionBackoffMs: number;
}

export interface EngineParts extends Omit<WorkerParts, 'keeper' | 'desk' | 'seat' | 'held' | 'onFreed'> {
  readonly identity: Pick<ProcessIdentity, 'isDead' | 'forget'>;
}

const answerMs = 30_000;
const disownIntervalMs = 60_000;

/** A worker, and how many jobs it runs at a time; `undefined` where the start says so. */
interface Staffed {
  readonly worker: Worker;
  readonly slots: number | undefined;
}

/**
 * Workers, heartbeat and upkeep over a store that processes share; from its start to its stop, once. A queue that
 * starts again makes a new one, so that nothing of an old run can reach into the next.
 */
export class Engine {
  private readonly keeper: LeaseKeeper;
  /** Claims from all queues that have no workers of their own. */
  private readonly main: Worker;
  private readonly staff: readonly Staffed[];
  private readonly upkeep: Upkeep;
  private readonly pruner: Pruner;
  private stopListening: Promise<() => Promise<void>> | undefined;

  constructor(
    private readonly parts: EngineParts,
    settings: EngineSettings,
  ) {
    const { store, events, clock, claimTypes, identity } = parts;
    this.keeper = new LeaseKeeper({ store, events, clock, leaseMs: settings.leaseMs });
    const claims = (): readonly Lease[] => this.keeper.attempts().map(({ job }) => job);
    const disown = (): Promise<number> => withDeadline(store.disown(settings.owner, claims()), answerMs);
    const desk = new ClaimDesk({ disown, clock, intervalMs: disownIntervalMs });
    const held = (): readonly string[] => this.staff.flatMap(({ worker }) => worker.held());
    const onFreed = (): void => {
      for (const { worker } of this.staff) worker.freed();
    };
    const shared = { ...parts, keeper: this.keeper, desk, seat: new SuspectSeat(), held, onFreed };
    const named = Object.entries(settings.queues);
    const rest: QueueScope | undefined = named.length === 0 ? undefined : { except: named.map(([queue]) => queue) };
    const workerOf = (queues: QueueScope | undefined): Worker => new Worker(shared, { ...settings, queues });
    this.main = workerOf(rest);
    this.staff = [
      { worker: this.main, slots: undefined },
      ...named.map(([queue, slots]) => ({ worker: workerOf({ only: [queue] }), slots })),
    ];
    this.pruner = new Pruner({ store, keepMs: settings.keepMs });
    this.upkeep = new Upkeep(
      {
        store,
        events,
        clock,
        knownTypes: claimTypes,
        attempts: () => this.attempts(),
        onRecovered: () => this.wake(),
        isDead: (owner) => identity.isDead(owner),
        onForgotten: (owner) => identity.forget(owner),
      },
      settings,
    );
  }

  /** Attempts that are under way. */
  attempts(): readonly Attempt[] {
    return this.staff.flatMap(({ worker }) => worker.attempts());
  }

  /** @param workers How many jobs run at a time, beside those of queues that have workers of their own; 0 runs only those. */
  start(workers: number): void {
    for (const { worker, slots = workers } of this.staff) if (slots > 0) worker.start(slots);
    this.upkeep.start();
    this.pruner.start();
    this.stopListening = this.parts.store.listen(() => this.wake());
    // Waking is a hint; without it the poll finds the job.
    this.stopListening.catch(() => undefined);
  }

  /** Looks for the jobs of dead workers, claims one job of any type, and runs it to its end. */
  async runOne(): Promise<boolean> {
    await this.upkeep.recover();
    return this.main.runOne();
  }

  /** Takes back the jobs of dead workers. */
  async recover(): Promise<void> {
    await this.upkeep.recover();
  }

  /** These claims stand no longer, since their jobs were cancelled: their attempts are told to end. */
  cancel(claims: readonly Lease[]): void {
    for (const { worker } of this.staff) worker.cancel(claims);
  }

  wake(): void {
    for (const { worker } of this.staff) worker.wake();
  }

  /** See `Worker.stop`. The heartbeat goes on until every outcome is stored. */
  async stop(timeoutMs: number, graceMs: number): Promise<void> {
    const stopListening = this.stopListening?.then((stop) => stop()).catch(() => undefined);
    void this.upkeep.stop();
    void this.pruner.stop();
    await Promise.all(this.staff.map(({ worker }) => worker.stop(timeoutMs, graceMs)));
    await Promise.race([Promise.all([this.keeper.stop(), stopListening]), pause(graceMs)]);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
