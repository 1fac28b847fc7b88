import type { DataSource, QueryRunner } from 'typeorm';
import type { Clock } from '../../model/clock.js';
import { StoreError } from '../../model/errors.js';
import type { EnqueueResult } from '../../model/enqueue-result.js';
import type { JobTransaction } from '../../model/job-transaction.js';
import type { Lease, NewJob } from '../../model/job.js';
import type { BatchStore } from '../batch-store.js';
import type { JobQueries } from '../job-queries.js';
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
  Settlement,
} from '../job-store.js';
import { Alarm } from './alarm.js';
import { TypeOrmBatchStore } from './batches/typeorm-batch-store.js';
import { runnerOf } from './callers-transaction.js';
import { CommitWatcher } from './commit-watcher.js';
import type { SqlDialect } from './dialects/sql-dialect.js';
import { delaysOf, isAnyDueNow } from './due-now.js';
import { jobScopeManager } from './job-scope.js';
import { inStore } from './store-error.js';
import type { Pauses } from '../pauses.js';
import type { ScheduleStore } from '../schedule-store.js';
import { TypeOrmPauses } from './typeorm-pauses.js';
import type { Statistics } from '../statistics.js';
import { TypeOrmStatistics } from './typeorm-statistics.js';
import { TypeOrmSchedules } from './typeorm-schedules.js';
import { TypeOrmJobQueries } from './typeorm-job-queries.js';

export interface TypeOrmJobStoreParts {
  readonly dataSource: DataSource;
  readonly dialect: SqlDialect;
  readonly clock: Clock;
  /** Called after the end of each of the app's transactions. */
  readonly onTransactionEnd: () => void;
}

/**
 * Jobs in a table of the app's own database. The dialect knows the statements; this class is what they have in common: what
 * drivers throw becomes a StoreError, the caller's transaction is checked before it is joined, and whoever listens is woken once jobs
 * are committed.
 */
export class TypeOrmJobStore implements AdministeredStore {
  readonly queries: JobQueries;
  readonly pauses: Pauses;
  readonly statistics: Statistics;
  readonly hasOneConnection: boolean;
  readonly batches: BatchStore;
  readonly schedules: ScheduleStore;
  private readonly commits: CommitWatcher;
  private readonly listeners = new Set<{ readonly wake: () => void }>();
  private readonly alarm: Alarm;
  private stopRemote: (() => Promise<void>) | undefined;

  constructor(private readonly parts: TypeOrmJobStoreParts) {
    this.commits = new CommitWatcher(parts.dataSource, parts.onTransactionEnd);
    this.hasOneConnection = parts.dialect.hasOneConnection;
    this.alarm = new Alarm(parts.clock, this.wakeAll);
    this.queries = new TypeOrmJobQueries(parts.dialect.admin, () => this.wakeAll());
    this.pauses = new TypeOrmPauses(parts.dialect.admin, () => this.wakeAll());
    this.statistics = new TypeOrmStatistics(parts.dialect.admin);
    this.batches = new TypeOrmBatchStore({
      dataSource: parts.dataSource,
      sql: parts.dialect.admin,
      scripts: parts.dialect.batches,
      wake: () => this.wakeAll(),
      afterCommit: (runner, act) => this.commits.afterCommit(runner, act),
    });
    this.schedules = new TypeOrmSchedules(parts.dialect, () => this.wakeAll());
  }

  get exchangesAtOnce(): number {
    return this.parts.dialect.exchangesAtOnce ?? 1;
  }

  get mostAtOnce(): number | undefined {
    return this.parts.dialect.mostAtOnce;
  }

  async open(): Promise<void> {
    const { dataSource, dialect } = this.parts;
    if (!dataSource.isInitialized) {
      throw new StoreError('the DataSource is not initialized: await dataSource.initialize() before the queue is used');
    }
    this.commits.attach();
    await inStore('open the job table', () => dialect.open());
  }

  async insert(jobs: readonly NewJob[], manager?: unknown): Promise<void> {
    const { dataSource, dialect } = this.parts;
    if (manager !== undefined) {
      const runner = runnerOf(manager, dataSource);
      if (jobs.length > 0) await dialect.insertWithin(runner, jobs);
      this.tellDue(jobs, runner);
    } else if (jobs.length > 0) {
      await inStore('store jobs', () => dialect.insert(jobs));
      this.tellDue(jobs);
    }
  }

  async admit(jobs: readonly NewJob[], manager?: unknown): Promise<readonly EnqueueResult[]> {
    const { dataSource, dialect } = this.parts;
    if (manager === undefined) {
      const results = await inStore('store jobs', () => dialect.admit(jobs));
      this.tellDue(newOnes(jobs, results));
      return results;
    }
    const runner = runnerOf(manager, dataSource);
    const results = await dialect.admitWithin(runner, jobs);
    this.tellDue(newOnes(jobs, results), runner);
    return results;
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { settle, claim } = request;
    const isClaiming = claim !== undefined && claim.types?.length !== 0;
    if (settle.length === 0 && !isClaiming) return { lost: [], claimed: [] };
    const asked = isClaiming ? request : { settle, claim: undefined };
    const result = await inStore('settle and claim jobs', () => this.parts.dialect.exchange(asked));
    this.tellPutOff(settle);
    return result;
  }

  async claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    if (request.types.length === 0) return { claimed: [], waits: new Map() };
    return inStore('claim jobs that have limits', () => this.parts.dialect.claimLimited(request));
  }

  async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    if (leases.length === 0) return [];
    return inStore('extend leases', () => this.parts.dialect.extend(leases, leaseMs));
  }

  async note(notes: readonly JobNote[]): Promise<void> {
    if (notes.length > 0) await inStore('write down notes of running jobs', () => this.parts.dialect.note(notes));
  }

  begin(lease: Lease): Promise<JobTransaction<JobWrite>> {
    return inStore('begin a transaction for a job', () => this.parts.dialect.begin(lease));
  }

  foreignClaims(owner: string): Promise<readonly ForeignClaims[]> {
    return inStore('look at the claims of others', () => this.parts.dialect.foreignClaims(owner));
  }

  recover(request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    return inStore('recover interrupted jobs', () => this.parts.dialect.recover(request));
  }

  disown(owner: string, held: readonly Lease[]): Promise<number> {
    return inStore('give back jobs', () => this.parts.dialect.disown(owner, held));
  }

  prune(request: PruneRequest): Promise<number> {
    return inStore('delete old jobs', () => this.parts.dialect.prune(request));
  }

  pruneSlots(limit: number): Promise<number> {
    return inStore('delete old throttles', () => this.parts.dialect.pruneSlots(limit));
  }

  pendingTypes(): Promise<readonly string[]> {
    return inStore('list the types of pending jobs', () => this.parts.dialect.pendingTypes());
  }

  async listen(wake: () => void): Promise<() => Promise<void>> {
    const listener = { wake };
    this.listeners.add(listener);
    this.stopRemote ??= this.parts.dialect.listen(this.wakeAll);
    return async () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) await this.stopListening();
    };
  }

  /**
   * The DataSource's own manager is in no transaction, ever, unless something has put the one of the transaction around its caller in
   * its place, as typeorm-transactional does. A transaction within that of a handler goes before it.
   */
  ambientManager(): unknown {
    const { dataSource } = this.parts;
    return dataSource.manager.queryRunner === undefined ? this.handlersManager() : dataSource.manager;
  }

  /** The EntityManager of the transactional handler that this is called from, if that works on the same DataSource and is not over. */
  handlersManager(): unknown {
    const manager = jobScopeManager();
    return manager !== undefined && Reflect.get(manager, 'dataSource') === this.parts.dataSource ? manager : undefined;
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.commits.detach();
    await this.stopListening();
    await inStore('close the connections of the job table', () => this.parts.dialect.close());
  }

  /** Those who listen are woken when these jobs are due, and committed where that is still to come. */
  private tellDue(jobs: readonly NewJob[], runner?: QueryRunner): void {
    if (this.listeners.size === 0) return;
    const { clock } = this.parts;
    const now = clock.now();
    const isDueNow = isAnyDueNow(jobs, now);
    const moments = delaysOf(jobs, now).map((delayMs) => clock.monotonic() + delayMs);
    const setAlarm = (): void => moments.forEach((moment) => this.alarm.set(moment));
    if (runner === undefined) {
      if (isDueNow) this.wakeAll();
      setAlarm();
    } else {
      if (isDueNow) this.commits.afterCommit(runner, this.wakeAll);
      if (moments.length > 0) this.commits.afterCommit(runner, setAlarm);
    }
  }

  private tellPutOff(settled: readonly Settlement[]): void {
    for (const { outcome } of settled) {
      if ('delayMs' in outcome && outcome.delayMs > 0) this.alarm.set(this.parts.clock.monotonic() + outcome.delayMs);
    }
  }

  private async stopListening(): Promise<void> {
    const stop = this.stopRemote;
    this.stopRemote = undefined;
    this.alarm.stop();
    await stop?.();
  }

  private readonly wakeAll = (): void => {
    for (const { wake } of this.listeners) wake();
  };
}

function newOnes(jobs: readonly NewJob[], results: readonly EnqueueResult[]): readonly NewJob[] {
  return jobs.filter((_job, index) => ['stored', 'replaced'].includes(results[index]?.outcome ?? ''));
}
