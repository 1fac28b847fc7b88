import type { Attempt } from '../execution/attempt.js';
import type { Lease } from '../model/job.js';
import { startTimer } from '../model/timer.js';
import type { BatchStore } from '../stores/batch-store.js';
import type { QueueScope } from '../stores/job-store.js';
import type { Statistics } from '../stores/statistics.js';
import { BatchCloser } from './batch-closer.js';
import { ClaimDesk } from './claim-desk.js';
import { withDeadline } from './deadline.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Meter } from './meter.js';
import { NoteWriter } from './note-writer.js';
import { OutageReport } from './outage-report.js';
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

export interface EngineParts extends Omit<
  WorkerParts,
  'keeper' | 'notes' | 'desk' | 'seat' | 'outages' | 'held' | 'meter' | 'batches' | 'onFreed'
> {
  /** Where it is stored what has become of jobs; absent where nobody reads it. */
  readonly statistics?: Statistics;
  readonly identity: Pick<ProcessIdentity, 'isDead' | 'forget'>;
  /** Absent where there are none. */
  readonly batches?: BatchStore | undefined;
}

const answerMs = 30_000;
const disownIntervalMs = 60_000;
/** A stop that takes no longer is nobody's concern. */
const quietMs = 1_000;

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
  private readonly notes: NoteWriter;
  private readonly outages: OutageReport;
  /** Claims from all queues that have no workers of their own. */
  private readonly main: Worker;
  private readonly staff: readonly Staffed[];
  private readonly upkeep: Upkeep;
  private readonly pruner: Pruner;
  private readonly meter: Meter | undefined;
  private readonly closer: BatchCloser | undefined;
  private stopListening: Promise<() => Promise<void>> | undefined;

  constructor(
    private readonly parts: EngineParts,
    settings: EngineSettings,
  ) {
    const { store, events, clock, statistics, batches } = parts;
    this.closer = batches === undefined ? undefined : new BatchCloser({ batches, clock });
    this.keeper = new LeaseKeeper({ store, events, clock, leaseMs: settings.leaseMs });
    this.notes = new NoteWriter(store, events);
    this.outages = new OutageReport(events, clock);
    this.meter = statistics && new Meter({ statistics, clock, owner: settings.owner });
    const shared = this.workerParts(settings.owner);
    const named = Object.entries(settings.queues);
    const rest: QueueScope | undefined = named.length === 0 ? undefined : { except: named.map(([queue]) => queue) };
    const workerOf = (queues: QueueScope | undefined): Worker => new Worker(shared, { ...settings, queues });
    this.main = workerOf(rest);
    this.staff = [
      { worker: this.main, slots: undefined },
      ...named.map(([queue, slots]) => ({ worker: workerOf({ only: [queue] }), slots })),
    ];
    this.pruner = new Pruner({ store, keepMs: settings.keepMs });
    this.upkeep = this.makeUpkeep(settings);
  }

  /** Attempts that are under way. */
  attempts(): readonly Attempt[] {
    return this.staff.flatMap(({ worker }) => worker.attempts());
  }

  /** Whether an outage of the store has been told of, and not its end. */
  get isOut(): boolean {
    return this.outages.isOn;
  }

  /** @param workers How many jobs run at a time, beside those of queues that have workers of their own; 0 runs only those. */
  start(workers: number): void {
    for (const { worker, slots = workers } of this.staff) if (slots > 0) worker.start(slots);
    this.upkeep.start();
    this.pruner.start();
    this.meter?.start();
    this.closer?.start();
    this.stopListening = this.parts.store.listen(() => this.wake());
    // Waking is a hint; without it the poll finds the job.
    this.stopListening.catch(() => undefined);
  }

  /** Looks for the jobs of dead workers, claims one job of any type, and runs it to its end. */
  async runOne(): Promise<boolean> {
    await this.upkeep.recover();
    await this.closer?.tick();
    const hasRun = await this.main.runOne();
    await this.closer?.tick();
    await this.meter?.tick();
    return hasRun;
  }

  /** Jobs of these batches are over. */
  batchesChanged(ids: readonly string[]): void {
    this.closer?.tell(ids);
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
    void this.notes.stop();
    const stopTelling = startTimer(quietMs, () => this.tellOfDrain(timeoutMs - quietMs), 'unref');
    await Promise.all(this.staff.map(({ worker }) => worker.stop(timeoutMs, graceMs)));
    stopTelling();
    this.outages.close();
    const ends = [this.keeper, this.meter, this.closer].map(async (part) => part?.stop());
    await Promise.race([Promise.all([...ends, stopListening]), pause(graceMs)]);
  }

  private tellOfDrain(timeoutMs: number): void {
    const running = this.attempts().length;
    if (running > 0 && timeoutMs > 0) this.parts.events.emit('draining', { running, timeoutMs });
  }

  /** What all workers share. */
  private workerParts(owner: string): WorkerParts {
    const { store, clock } = this.parts;
    const { keeper, notes, outages, meter, closer } = this;
    const claims = (): readonly Lease[] => keeper.attempts().map(({ job }) => job);
    const disown = (): Promise<number> => withDeadline(store.disown(owner, claims()), answerMs);
    const desk = new ClaimDesk({ disown, clock, intervalMs: disownIntervalMs });
    const held = (): readonly string[] => this.staff.flatMap(({ worker }) => worker.held());
    const onFreed = (): void => {
      for (const { worker } of this.staff) worker.freed();
    };
    const shared = { keeper, notes, desk, seat: new SuspectSeat(), outages, held, meter, batches: closer, onFreed };
    return { ...this.parts, ...shared };
  }

  private makeUpkeep(settings: EngineSettings): Upkeep {
    const { store, events, clock, claimTypes, identity } = this.parts;
    const parts = {
      store,
      events,
      clock,
      knownTypes: claimTypes,
      attempts: () => this.attempts(),
      onRecovered: () => this.wake(),
      isDead: (owner: string) => identity.isDead(owner),
      onForgotten: (owner: string) => identity.forget(owner),
    };
    return new Upkeep(parts, settings);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
