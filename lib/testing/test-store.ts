import type { EnqueueResult } from '../model/enqueue-result.js';
import type { Clock } from '../model/clock.js';
import type { Lease, NewJob } from '../model/job.js';
import type { JobTransaction } from '../model/job-transaction.js';
import type {
  AdministeredStore,
  ExchangeRequest,
  ExchangeResult,
  ForeignClaims,
  JobNote,
  JobWrite,
  LostLease,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
} from '../stores/job-store.js';
import type { Pauses, PauseTarget } from '../stores/pauses.js';
import { jobScopeManager } from '../stores/typeorm/job-scope.js';
import { pauseSlot, toPause } from '../stores/typeorm/slot.js';
import { Commits } from './commits.js';
import { TestQueries } from './test-queries.js';
import { TestTable } from './test-table.js';
import { beginTestTransaction } from './test-transaction.js';

export interface TestStoreParts {
  readonly clock: Clock;
  /** The app's DataSource, where it has one; asked for when a handler needs a transaction. */
  readonly dataSource?: () => Promise<unknown>;
  /** Called with jobs that are there now: they were stored, or the transaction that they were stored in has committed. */
  readonly onStored?: (jobs: readonly NewJob[]) => void;
  /** Called after a transaction in which jobs were stored has committed. */
  readonly onCommitted?: () => Promise<void>;
}

/** The store of a test: no database, no connection, no timer. */
export class TestStore implements AdministeredStore {
  readonly queries: TestQueries;
  readonly pauses: Pauses;
  private readonly table: TestTable;
  private readonly commits = new Commits();
  private readonly listeners = new Set<() => void>();
  private dataSource: unknown;

  constructor(private readonly parts: TestStoreParts) {
    this.table = new TestTable(parts.clock);
    this.queries = new TestQueries(this.table, () => this.wakeAll());
    this.pauses = pausesOf(this.table.pauses, () => this.wakeAll());
  }

  async open(): Promise<void> {
    this.dataSource = await this.parts.dataSource?.();
  }

  async insert(jobs: readonly NewJob[], manager?: unknown): Promise<void> {
    const store = (): void => {
      this.table.insert(jobs);
      this.stored(jobs);
    };
    if (!this.commits.afterCommit(manager, store, this.onCommitted)) store();
  }

  /** In a transaction what stands in the way is judged by what is there now, and again at the commit. */
  async admit(jobs: readonly NewJob[], manager?: unknown): Promise<readonly EnqueueResult[]> {
    const store = (): readonly EnqueueResult[] => {
      const results = this.table.admit(jobs);
      this.stored(jobs.filter((_job, index) => results[index]?.outcome === 'stored'));
      return results;
    };
    const isLater = this.commits.afterCommit(manager, () => void store(), this.onCommitted);
    return isLater ? this.table.rehearse(jobs) : store();
  }

  async exchange({ settle, claim }: ExchangeRequest): Promise<ExchangeResult> {
    return { lost: this.table.settle(settle), claimed: claim === undefined ? [] : this.table.claim(claim) };
  }

  async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    return this.table.extend(leases, leaseMs);
  }

  async note(notes: readonly JobNote[]): Promise<void> {
    this.table.note(notes);
  }

  async disown(owner: string, held: readonly Lease[]): Promise<number> {
    return this.table.disown(owner, held);
  }

  async foreignClaims(owner: string): Promise<readonly ForeignClaims[]> {
    return this.table.foreignClaims(owner);
  }

  async recover(request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    return this.table.recover(request);
  }

  async pendingTypes(): Promise<readonly string[]> {
    return this.table.pendingTypes();
  }

  async prune(request: PruneRequest): Promise<number> {
    return this.table.prune(request);
  }

  async pruneSlots(limit: number): Promise<number> {
    return this.table.pruneSlots(limit);
  }

  begin(lease: Lease): Promise<JobTransaction<JobWrite>> {
    return beginTestTransaction(this.dataSource, this.table, lease);
  }

  async listen(wake: () => void): Promise<() => Promise<void>> {
    this.listeners.add(wake);
    return async () => void this.listeners.delete(wake);
  }

  ambientManager(): unknown {
    const { dataSource } = this;
    const manager: unknown =
      typeof dataSource === 'object' && dataSource !== null ? Reflect.get(dataSource, 'manager') : undefined;
    const isAmbient =
      typeof manager === 'object' && manager !== null && 'queryRunner' in manager && manager.queryRunner !== undefined;
    return isAmbient ? manager : this.handlersManager();
  }

  handlersManager(): unknown {
    return jobScopeManager();
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.commits.detach();
  }

  /** Milliseconds until the first job is due that is not yet; `undefined` where none will be. */
  untilDueMs(): number | undefined {
    const now = this.parts.clock.now();
    const later = this.table.all().filter(({ state, runAt }) => state === 'pending' && runAt > now);
    return later.length === 0 ? undefined : Math.min(...later.map(({ runAt }) => runAt)) - now;
  }

  private readonly onCommitted = async (): Promise<void> => this.parts.onCommitted?.();

  private stored(jobs: readonly NewJob[]): void {
    this.wakeAll();
    this.parts.onStored?.(jobs);
  }

  private wakeAll(): void {
    for (const listener of this.listeners) listener();
  }
}

function pausesOf(slots: Set<string>, wake: () => void): Pauses {
  return {
    pause: async (target) => {
      const isNew = !slots.has(pauseSlot(target));
      slots.add(pauseSlot(target));
      return isNew;
    },
    resume: async (target) => {
      const isDone = slots.delete(pauseSlot(target));
      wake();
      return isDone;
    },
    list: async (): Promise<readonly PauseTarget[]> =>
      [...slots]
        .toSorted()
        .map(toPause)
        .filter((target) => target !== undefined),
  };
}
