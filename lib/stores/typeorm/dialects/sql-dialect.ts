import type { QueryRunner } from 'typeorm';
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
import type { AdminSql } from '../admin/admin-sql.js';
import type { BatchSql } from '../batches/batch-sql.js';
import type { TextMaker } from '../admin/sql-text.js';

/** A slot and its job. */
export interface Firing {
  /** Takes the slot; changes no row where it is somebody else's. */
  readonly take: TextMaker;
  readonly job: NewJob;
  /** Notes that another job does the work, because it holds the unique key of this one. */
  readonly note: (jobId: string) => TextMaker;
}

/**
 * What each database does in its own way. The verbs are those of `JobStore`; their statements, how many of them a verb
 * needs and what makes it safe to say one again differ too much to share text.
 *
 * A dialect repeats by itself what the database refused for a passing reason, and throws the driver's own errors.
 */
export interface SqlDialect {
  /** For those who look at jobs and control them from outside. */
  readonly admin: AdminSql;
  /** See `JobStore`. */
  readonly hasOneConnection: boolean;
  /** How many exchanges go on at the same time, faster than one after the other. Default 1. */
  readonly exchangesAtOnce?: number;
  /** See `JobStore`. */
  readonly mostAtOnce?: number | undefined;
  /** For batches: several steps in one transaction. */
  readonly batches: BatchSql;
  /** Connections first, then the schema. May be called again after it threw. */
  open(): Promise<void>;
  /** All of the jobs or none; committed when the promise resolves. */
  insert(jobs: readonly NewJob[]): Promise<void>;
  /** All of the jobs or none, in the transaction that is open on the caller's runner. Nothing is repeated. */
  insertWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<void>;
  /** See `JobStore.admit`; committed when the promise resolves. */
  admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]>;
  /** The same in the transaction that is open on the caller's runner, which stays usable. */
  admitWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]>;
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult>;
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]>;
  note(notes: readonly JobNote[]): Promise<void>;
  /** Opens a transaction of the app's for work on the job of this claim. */
  begin(lease: Lease): Promise<JobTransaction<JobWrite>>;
  foreignClaims(owner: string): Promise<readonly ForeignClaims[]>;
  recover(request: RecoverRequest): Promise<readonly RecoveredJob[]>;
  disown(owner: string, held: readonly Lease[]): Promise<number>;
  prune(request: PruneRequest): Promise<number>;
  pruneSlots(limit: number): Promise<number>;
  pendingTypes(): Promise<readonly string[]>;
  /** Runs writing statements, all or none; said again where the database refused for a passing reason. */
  writeTogether(statements: readonly TextMaker[]): Promise<void>;
  /** Takes a slot and admits its job, both or neither. Answers with the id of the job that does the work, or with nothing. */
  fire(firing: Firing): Promise<string | undefined>;
  /** Calls `wake` when another process may have stored jobs, as far as this database can tell. Never throws. */
  listen(wake: () => void): () => Promise<void>;
  /** Gives back what `open` took. */
  close(): Promise<void>;
}
