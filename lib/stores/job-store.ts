import type { EnqueueResult } from '../model/enqueue-result.js';
import type { ClaimedJob, Lease, NewJob } from '../model/job.js';
import type { EndedState } from '../model/job-state.js';
import type { BatchStore } from './batch-store.js';
import type { LimitedType } from '../model/limited-type.js';
import type { Pauses } from './pauses.js';
import type { Statistics } from './statistics.js';
import type { JobTransaction } from '../model/job-transaction.js';
import type { JobQueries } from './job-queries.js';
import type { ScheduleStore } from './schedule-store.js';
import type { Outcome } from '../model/outcome.js';

/** The outcome of one attempt, on its way to the store. */
export interface Settlement extends Lease {
  readonly outcome: Outcome;
  /** What goes into the history of the job; a row that goes has none. See `model/attempt-history.ts`. */
  readonly line?: string | undefined;
  /** What its handler said last; see `JobNote`. A row that goes has no use for it. */
  readonly note?: Pick<JobNote, 'progress' | 'log'> | undefined;
}

/** What a handler says of its job while it runs. */
export interface JobNote extends Lease {
  /** How far it has come, in place of what stood there; see `model/job-progress.ts`. Absent: that stays. */
  readonly progress?: string | undefined;
  /** What is put at the end of its log, which is then cut at its beginning; see `model/log-lines.ts`. */
  readonly log?: string | undefined;
}

/** What is written about a job in a transaction of the app's: its outcome, or a line that it is to remember. */
export type JobWrite =
  { readonly kind: 'settle'; readonly settlement: Settlement } | { readonly kind: 'remember'; readonly line: string };

/** Some queues, or all but some. */
export type QueueScope = { readonly only: readonly string[] } | { readonly except: readonly string[] };

/** What a worker asks for. */
export interface ClaimRequest {
  /** The job types that may be claimed; `undefined` means any. An empty list claims nothing. */
  readonly types: readonly string[] | undefined;
  /** The queues whose jobs may be claimed. Default: all of them. */
  readonly queues?: QueueScope | undefined;
  /** How many jobs at the most of some types; where they lie in several streams, of each. Default: any number. */
  readonly caps?: Readonly<Record<string, number>> | undefined;
  /** How many jobs at the most; at least 1. */
  readonly limit: number;
  /** The claiming process; goes into `claimed_by`. */
  readonly owner: string;
  readonly leaseMs: number;
  /** Jobs that were interrupted more often than this are left alone. Default: none are. */
  readonly mostInterruptions?: number | undefined;
  /** Only jobs without a key. Default: all. */
  readonly keys?: 'none' | undefined;
  /**
   * How many characters the payloads of the claimed jobs may have together: jobs are claimed in their order as long as they fit, and the first one in
   * any case, since what is too large for every claim must run too. A store may count bytes of UTF-8, which are no fewer. One whose jobs lie in the
   * memory of this process anyway need not heed it. Default: any number.
   */
  readonly room?: number | undefined;
  /** It goes on with a claim that has taken jobs before: not even its first job may be larger than the room. */
  readonly isFurther?: boolean | undefined;
}

export interface ExchangeRequest {
  readonly settle: readonly Settlement[];
  readonly claim: ClaimRequest | undefined;
}

/** A claim that does not stand any more. */
export interface LostLease extends Lease {
  /** The job was cancelled and is so still; otherwise another worker may have it by now. */
  readonly isCancelled?: boolean;
}

export interface ExchangeResult {
  /** Settlements that changed no row, because the claim was lost. */
  readonly lost: readonly LostLease[];
  /** Newly claimed jobs: of the lowest priority first, of the same one oldest due first. */
  readonly claimed: readonly ClaimedJob[];
}

/** A type with limits of the fleet, and how many of its jobs this process could run at the most. */
export interface AskedType extends LimitedType {
  readonly most: number;
  /** Within so many milliseconds of its claim each job is started, or given back unstarted; see `model/start-times.ts`. */
  readonly graceMs: number;
}

/** What a worker asks for of the types with limits. */
export interface LimitedClaimRequest extends Omit<ClaimRequest, 'types' | 'caps' | 'keys'> {
  readonly types: readonly AskedType[];
}

export interface LimitedClaimResult {
  readonly claimed: readonly ClaimedJob[];
  /** Of the types that a rate limit holds back, milliseconds until it lets the next job through. */
  readonly waits: ReadonlyMap<string, number>;
}

export interface RecoverRequest {
  /** Rows of this owner are left alone: it knows best what it holds, even when its heartbeat is late. */
  readonly owner: string;
  /** A job interrupted this often ends `failed`. */
  readonly maxInterruptions: number;
  /** The n-th interruption makes the job wait (n - 1) times this long: the first one costs no time. */
  readonly backoffMs: number;
  /** How many rows at the most in one call. */
  readonly limit: number;
  /** Owners that are proven to be dead: their rows are due at once, lease or not. Default none. */
  readonly deadOwners?: readonly string[];
}

/** The claims that another process, or nobody any more, has on running jobs. */
export interface ForeignClaims {
  /** As it stands in `claimed_by`; `undefined` for rows that nobody owns. */
  readonly owner: string | undefined;
  /** Milliseconds until the first of its leases ends; `undefined` where one has no lease at all. */
  readonly endsInMs: number | undefined;
}

/** A job whose lease had run out, or that was `running` without one. */
export interface RecoveredJob {
  readonly id: string;
  readonly type: string;
  /** Its interruptions, this one included. */
  readonly interruptions: number;
  readonly state: 'pending' | 'failed';
}

export interface PruneRequest {
  readonly state: EndedState;
  /** Jobs that came into this state at least so long ago go, those aside that are kept until a moment of their own; `Infinity` for none. */
  readonly endedForMs: number;
  /** How many at the most in one call, of those with a moment of their own and of the others. */
  readonly limit: number;
}

/**
 * The working side of a store: everything that the engine needs and nothing else. Each verb is a
 * single statement, or one short transaction where the database needs one. Moments (what is due, which lease
 * has ended) are judged by the store's own clock.
 *
 * Stores repeat by themselves what the database refused for a passing reason before doing anything (deadlock, serialization, busy).
 * Anything else is thrown, and the caller decides; a verb that threw may or may not have taken effect.
 */
export interface JobStore extends JobUpkeep {
  /**
   * Makes the store usable: schema, connections. Called once before any other verb; may be called again after it threw.
   *
   * @throws SchemaError when the table is missing or of another version and may not be made.
   */
  open(): Promise<void>;

  /**
   * Stores jobs as `pending`: all of them or none. For jobs with a `uniqueKey` or a `throttle` there is `admit`.
   *
   * @param manager TypeORM's EntityManager of the caller's transaction; the jobs then live or die with it, and nothing is repeated in it.
   */
  insert(jobs: readonly NewJob[], manager?: unknown): Promise<void>;

  /**
   * Stores jobs of which some have a `uniqueKey` or a `throttle`, each of these only where no other job stands in its way; answers for each what
   * came of it, in the same order. All of that or nothing.
   *
   * A key is held by a job that is pending or running, a slot of a throttle by a moment. However many processes call at the same time, one job is
   * stored. What stands in the way is never locked while it runs. A transaction that has stored a job with the same key and is still open is waited for.
   *
   * @param manager As in `insert`. The transaction stays usable.
   */
  admit(jobs: readonly NewJob[], manager?: unknown): Promise<readonly EnqueueResult[]>;

  /**
   * Settles outcomes and claims due jobs, together where the database can. A settlement whose token is not the row's token any
   * more changes nothing and is reported in `lost`.
   */
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;

  /**
   * Claims due jobs of types that have limits over the whole fleet. However many processes call at the same time, never are more of them running,
   * or started in a window, than their limits say, nor two of one key; all that run count, whoever claimed them.
   */
  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult>;

  /** Heartbeat: moves the end of these leases to now + `leaseMs`. Returns those that are lost. */
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]>;

  /** Writes down what handlers say while they run. Claims that are lost change nothing; the heartbeat tells of them. */
  note(notes: readonly JobNote[]): Promise<void>;

  /**
   * Gives back rows that stand under this owner's name though it does not hold them: a claim whose answer was lost on the way.
   * Nothing is counted. Only to be called while no claim of this owner is under way. Returns how many.
   */
  disown(owner: string, held: readonly Lease[]): Promise<number>;

  /**
   * Calls `wake` when jobs may have become due: after an insert of this process has committed and, as far as the database can
   * tell, after one of another process. A hint only. Returns the way to stop listening.
   */
  listen(wake: () => void): Promise<() => Promise<void>>;

  /** The EntityManager that everything called from here works with unasked, in a transaction or not, where the store can tell. */
  ambientManager?(): unknown;

  /** That of the transactional handler which this is called from, alone. */
  handlersManager?(): unknown;

  /** Opens a transaction of the app's for work on the job of this claim. Absent where there are none. */
  begin?(lease: Lease): Promise<JobTransaction<JobWrite>>;

  /** Whether everything of the app happens on one connection, so that no transaction can be opened beside another one. */
  readonly hasOneConnection?: boolean;

  /** How many exchanges of one worker it does at the same time, faster than one after the other. Known once it is open. Default 1. */
  readonly exchangesAtOnce?: number;

  /**
   * The most jobs that one statement should be about, for a store whose statements hold up the event loop of this process. Default: any number.
   */
  readonly mostAtOnce?: number | undefined;

  /** Gives back what `open` took. The caller's DataSource is not closed. */
  close(): Promise<void>;
}

/** A store whose jobs can be looked at and controlled from outside. */
export interface AdministeredStore extends JobStore {
  readonly queries: JobQueries;
  readonly pauses: Pauses;
  readonly statistics: Statistics;
  readonly batches: BatchStore;
  readonly schedules: ScheduleStore;
}

/** What must be looked after all the time, whoever claims. */
export interface JobUpkeep {
  /** Who else has claims on running jobs, and when the first of them ends. Costs one look at the running rows, which are few. */
  foreignClaims(owner: string): Promise<readonly ForeignClaims[]>;

  /** Makes running jobs whose lease is over or missing, or whose owner is dead, due again, or `failed` when they were interrupted too often. */
  recover(request: RecoverRequest): Promise<readonly RecoveredJob[]>;

  /** The job types that have pending jobs, due or not. Cheap on large tables. */
  pendingTypes(): Promise<readonly string[]>;

  /** Deletes jobs that are over and have been kept for long enough, the oldest first. Returns how many. Several processes may do so at once. */
  prune(request: PruneRequest): Promise<number>;

  /** Deletes slots of throttles that are over. Returns how many. Several processes may do so at once. */
  pruneSlots(limit: number): Promise<number>;
}
