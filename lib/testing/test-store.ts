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
  LimitedClaimRequest,
  LimitedClaimResult,
  LostLease,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
} from '../stores/job-store.js';
import { MemorySchedules } from '../stores/memory/memory-schedules.js';
import type { Pauses, PauseTarget } from '../stores/pauses.js';
import { jobScopeManager } from '../stores/typeorm/job-scope.js';
import { inStore } from '../stores/typeorm/store-error.js';
import { pauseSlot, toPause } from '../stores/typeorm/slot.js';
import { Commits } from './commits.js';
import { TestBatches } from './test-batches.js';
import { TestLimits } from './test-limits.js';
import { TestQueries } from './test-queries.js';
import { TestStatistics } from './test-statistics.js';
import { TestTable, type Stored } from './test-table.js';
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
  readonly statistics: TestStatistics;
  readonly batches: TestBatches;
  readonly schedules: MemorySchedules;
  private readonly table: TestTable;
  private readonly limits: TestLimits;
  private readonly commits = new Commits();
  private readonly listeners = new Set<() => void>();
  private dataSource: unknown;

  constructor(private readonly parts: TestStoreParts) {
    const { clock } = parts;
    const table = new TestTable(clock);
    const wake = (): void => this.wakeAll();
    this.table = table;
    this.limits = new TestLimits(table);
    this.queries = new TestQueries({ table, wake, isOpen: (id) => isOpen(table, id) });
    this.pauses = pausesOf(table.pauses, wake);
    this.statistics = new TestStatistics(clock);
    this.batches = new TestBatches({ table, change: (manager, change) => this.change(manager, change) });
    this.schedules = new MemorySchedules({
      clock,
      add: (job) => this.change(undefined, admission([job]))[0]?.id ?? job.id,
      holds: (id) => ['pending', 'running'].includes(table.rows.get(id)?.state ?? ''),
    });
  }

  async open(): Promise<void> {
    this.dataSource = await this.parts.dataSource?.();
  }

  async insert(jobs: readonly NewJob[], manager?: unknown): Promise<void> {
    const insert = (table: TestTable): Stored<void> => ({ answer: table.insert(jobs), stored: jobs });
    return inStore('store jobs', async () => this.change(manager, insert));
  }

  /** In a transaction what stands in the way is judged by what is there now, and again at the commit. */
  async admit(jobs: readonly NewJob[], manager?: unknown): Promise<readonly EnqueueResult[]> {
    return inStore('store jobs', async () => this.change(manager, admission(jobs)));
  }

  async exchange({ settle, claim }: ExchangeRequest): Promise<ExchangeResult> {
    return { lost: this.table.settle(settle), claimed: claim === undefined ? [] : this.table.claim(claim) };
  }

  async claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    return this.limits.claim(request);
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

  /** Milliseconds until the first job may start that may not yet; `undefined` where none will be. */
  untilDueMs(): number | undefined {
    const now = this.parts.clock.now();
    const later = this.table.all().filter(({ state, runAt }) => state === 'pending' && runAt > now);
    const moments = [...later.map(({ runAt }) => runAt), ...this.limits.moments()];
    return moments.length === 0 ? undefined : Math.min(...moments) - now;
  }

  private readonly onCommitted = async (): Promise<void> => this.parts.onCommitted?.();

  /** Makes a change now, or when the caller's transaction commits; then it is answered what would come of it now. */
  private change<T>(manager: unknown, change: (table: TestTable) => Stored<T>): T {
    const make = (): T => {
      const { answer, stored } = change(this.table);
      this.wakeAll();
      this.parts.onStored?.(stored);
      return answer;
    };
    const isLater = this.commits.afterCommit(manager, () => void make(), this.onCommitted);
    return isLater ? this.table.rehearse(change).answer : make();
  }

  private wakeAll(): void {
    for (const listener of this.listeners) listener();
  }
}

function admission(jobs: readonly NewJob[]): (table: TestTable) => Stored<readonly EnqueueResult[]> {
  return (table) => {
    const answer = table.admit(jobs);
    return { answer, stored: jobs.filter((_job, index) => answer[index]?.outcome === 'stored') };
  };
}

function isOpen({ batches }: TestTable, id: string): boolean {
  const batch = batches.get(id);
  return batch !== undefined && batch.finishedAt === undefined;
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
