import type { DataSource, QueryRunner } from 'typeorm';
import type { Clock } from '../../../model/clock.js';
import { InvalidManagerError } from '../../../model/errors.js';
import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { JobTransaction } from '../../../model/job-transaction.js';
import type { Lease, NewJob } from '../../../model/job.js';
import type {
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
} from '../../job-store.js';
import type { TableName } from '../../../model/table-name.js';
import type { AdminSql } from '../admin/admin-sql.js';
import type { BatchSql } from '../batches/batch-sql.js';
import { MarkedText, type TextMaker } from '../admin/sql-text.js';
import { ensureSchema, type SchemaMode } from '../migrations/ensure-schema.js';
import { sqlNames, type SqlNames } from '../table-name.js';
import { SqliteAdmin } from './sqlite-admin.js';
import { SqliteBatches } from './sqlite-batches.js';
import { SqliteGate } from './sqlite-gate.js';
import { allOrNone, inSqliteTransaction, sqliteHandle, withBusyTimeout, type SqliteHandle } from './sqlite-handle.js';
import { SqliteJobs } from './sqlite-jobs.js';
import { sqliteSchemaAccess } from './sqlite-schema.js';
import { SqliteWorks } from './sqlite-works.js';
import { watchForCommits } from './sqlite-watcher.js';
import type { Firing, SqlDialect } from './sql-dialect.js';

const nothing: ExchangeResult = { lost: [], claimed: [] };

export interface SqliteSettings {
  readonly name: TableName;
  readonly schema: SchemaMode;
  readonly transactionWaitMs: number;
  readonly clock: Clock;
}

/**
 * SQLite through the app's own connection, the only one there is. Every verb is one synchronous block that the gate lets onto it
 * between the app's transactions.
 */
export class SqliteDialect implements SqlDialect {
  readonly admin: AdminSql;
  readonly hasOneConnection = true;
  /** Takes some ten milliseconds, and few enough that a commit for each lot costs little. */
  readonly mostAtOnce = 300;
  readonly batches: BatchSql;
  private readonly names: SqlNames;
  private readonly gate: SqliteGate;
  private readonly works: SqliteWorks;
  private known: SqliteJobs | undefined;

  constructor(
    private readonly app: DataSource,
    private readonly settings: SqliteSettings,
  ) {
    const { name, clock, transactionWaitMs } = settings;
    this.names = sqlNames(name, '"');
    this.gate = new SqliteGate({ handle: () => sqliteHandle(this.app), clock, transactionWaitMs });
    this.works = new SqliteWorks({ app: this.app, gate: this.gate, clock, waitMs: transactionWaitMs });
    const shared = { names: this.names, gate: this.gate, now: () => this.now() };
    this.admin = new SqliteAdmin(shared);
    this.batches = new SqliteBatches({
      ...shared,
      jobs: (handle) => this.jobs(handle),
      handleWithin: () => this.handleWithin(),
    });
  }

  async open(): Promise<void> {
    await ensureSchema(this.settings.schema, sqliteSchemaAccess(this.gate), this.names);
  }

  insert(jobs: readonly NewJob[]): Promise<void> {
    return this.write((own) => own.insert(jobs, this.now()));
  }

  /** The caller's transaction is open on this very connection, so the rows go straight into it. */
  async insertWithin(_runner: QueryRunner, jobs: readonly NewJob[]): Promise<void> {
    const handle = this.handleWithin();
    const insert = (): void => this.jobs(handle).insert(jobs, this.now());
    if (jobs.length === 1) insert();
    else allOrNone(handle, insert);
  }

  admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return this.write((own) => own.admit(jobs, this.now()));
  }

  async admitWithin(_runner: QueryRunner, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    const handle = this.handleWithin();
    return allOrNone(handle, () => this.jobs(handle).admit(jobs, this.now()));
  }

  exchange({ settle, claim }: ExchangeRequest): Promise<ExchangeResult> {
    return this.gate.run((handle) => {
      const own = this.jobs(handle);
      const now = this.now();
      // A look takes no lock, so that idle processes do not stand in the way of busy ones.
      const { claimer } = own;
      if (settle.length === 0 && (claim === undefined || claimer.due({ ...claim, limit: 1 }, now).length === 0))
        return nothing;
      return inSqliteTransaction(handle, () => ({
        lost: own.settle(settle, now),
        claimed: claim === undefined ? [] : claimer.claim(claimer.due(claim, now), claim, now),
      }));
    });
  }

  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    return this.gate.run((handle) => {
      const { limited } = this.jobs(handle);
      const { isOpen, waits } = limited.look(request, this.now());
      if (!isOpen) return { claimed: [], waits };
      return inSqliteTransaction(handle, () => limited.claim(request, this.now()));
    });
  }

  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    let lost: readonly LostLease[] = [];
    const extend = (handle: SqliteHandle): void => {
      lost = this.jobs(handle).extend(leases, this.now() + leaseMs);
    };
    const again = (): void => {
      const handle = sqliteHandle(this.app);
      withBusyTimeout(handle, 10, () => inSqliteTransaction(handle, () => extend(handle)));
    };
    if (this.works.renewWithin(extend, again)) return Promise.resolve(lost);
    return this.write((own) => own.extend(leases, this.now() + leaseMs));
  }

  begin(lease: Lease): Promise<JobTransaction<JobWrite>> {
    return this.works.begin({
      recall: (handle) => this.jobs(handle).recall(lease),
      write: (handle, write) => this.jobs(handle).write(lease, write, this.now()),
    });
  }

  note(notes: readonly JobNote[]): Promise<void> {
    return this.write((own) => own.note(notes));
  }

  foreignClaims(owner: string): Promise<readonly ForeignClaims[]> {
    return this.gate.run((handle) => this.jobs(handle).foreignClaims(owner, this.now()));
  }

  recover(request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    return this.gate.run((handle) => {
      const own = this.jobs(handle);
      const now = this.now();
      if (own.expired({ ...request, limit: 1 }, now).length === 0) return [];
      return inSqliteTransaction(handle, () => own.expired(request, now).map((row) => own.recover(row, request, now)));
    });
  }

  prune(request: PruneRequest): Promise<number> {
    return this.write((own) => own.prune(request, this.now()));
  }

  pruneSlots(limit: number): Promise<number> {
    return this.write((own) => own.pruneSlots(this.now(), limit));
  }

  disown(owner: string, held: readonly Lease[]): Promise<number> {
    return this.write((own) => own.disown(owner, held));
  }

  pendingTypes(): Promise<readonly string[]> {
    return this.gate.run((handle) => this.jobs(handle).claimer.pendingTypes());
  }

  async writeTogether(statements: readonly TextMaker[]): Promise<void> {
    await this.gate.run((handle) =>
      inSqliteTransaction(handle, () => {
        for (const make of statements) this.writeNow(handle, make);
      }),
    );
  }

  fire({ take, job, note }: Firing): Promise<string | undefined> {
    return this.gate.run((handle) =>
      inSqliteTransaction(handle, () => {
        if (this.writeNow(handle, take) === 0) return undefined;
        const [result] = this.jobs(handle).admit([job], this.now());
        const id = result?.id ?? job.id;
        if (id !== job.id) this.writeNow(handle, note(id));
        return id;
      }),
    );
  }

  listen(wake: () => void): () => Promise<void> {
    const stop = watchForCommits(() => sqliteHandle(this.app), wake);
    return async () => stop();
  }

  async close(): Promise<void> {
    this.known = undefined;
  }

  /** A transaction of the app has ended: those who wait have their turn before the next one begins. */
  transactionEnded(): void {
    this.gate.pump();
  }

  /** @throws InvalidManagerError unless the transaction of the manager is open. */
  private handleWithin(): SqliteHandle {
    const handle = sqliteHandle(this.app);
    if (handle.inTransaction) return handle;
    throw new InvalidManagerError(
      'the transaction of the manager has not begun or is over; call enqueue inside it, and await it there',
    );
  }

  private writeNow(handle: SqliteHandle, make: TextMaker): number {
    const sql = new MarkedText(this.names, this.now());
    const text = make(sql);
    return handle.prepare(text).run(...sql.values).changes;
  }

  private write<T>(block: (own: SqliteJobs) => T): Promise<T> {
    return this.gate.run((handle) => inSqliteTransaction(handle, () => block(this.jobs(handle))));
  }

  private jobs(handle: SqliteHandle): SqliteJobs {
    if (this.known?.handle !== handle) this.known = new SqliteJobs(handle, this.names);
    return this.known;
  }

  private now(): number {
    return this.settings.clock.now();
  }
}
