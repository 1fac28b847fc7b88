import type { Clock } from '../../model/clock.js';
import { enqueueResult, type EnqueueResult } from '../../model/enqueue-result.js';
import type { NewBatch } from '../../model/batch-progress.js';
import type { ClaimedJob, Lease, NewJob } from '../../model/job.js';
import type {
  ClaimRequest,
  ExchangeRequest,
  ExchangeResult,
  ForeignClaims,
  JobNote,
  JobStore,
  LimitedClaimRequest,
  LimitedClaimResult,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
  Settlement,
} from '../job-store.js';
import type { StoredBatch } from '../batch-store.js';
import { MemoryLimits } from './memory-limits.js';
import { KeyRegistry, type KeyHolder } from './key-registry.js';
import { MemoryBatches } from './memory-batches.js';
import { toRunningJob, type RunningJob } from './memory-claim.js';
import { WaitingLine, type WaitingJob } from './waiting-line.js';

/**
 * Jobs in the memory of this process: due ones in a queue, later ones in a heap.
 *
 * Nobody else can take its jobs and its worker dies with it, so leases never end: `extend`, `recover` and `disown` have
 * nothing to do. Finished and failed jobs are not kept.
 */
export class MemoryStore implements JobStore {
  private readonly line: WaitingLine;
  private readonly running = new Map<string, RunningJob>();
  private readonly keys = new KeyRegistry<WaitingJob>();
  private readonly listeners = new Set<() => void>();
  readonly batches: MemoryBatches;
  private readonly limits: MemoryLimits;
  private claims = 0;
  private added = 0;
  /** @param onSettled Called after outcomes have been settled. */
  constructor(
    private readonly clock: Clock,
    private readonly onSettled: () => void = () => undefined,
    onAddedByBatch?: (job: NewJob) => void,
  ) {
    this.batches = new MemoryBatches({ add: (job) => this.add(job), now: () => clock.now(), onAdded: onAddedByBatch });
    this.line = new WaitingLine({ clock, onDue: () => this.wakeAll(), onMoved: (entry) => this.keys.waits(entry) });
    const { line, running } = this;
    this.limits = new MemoryLimits({ clock, line, running, hand: (next) => this.hand(next) });
  }

  /** Jobs that wait to be run, due or not. */
  get waiting(): number {
    return this.line.size;
  }

  /** Jobs that wait or run. */
  get size(): number {
    return this.waiting + this.running.size;
  }

  /** Whether some job runs, is due, or becomes due until `moment` (monotonic). */
  hasWorkUntil(moment: number): boolean {
    return this.running.size > 0 || this.line.isAnyDueUntil(moment);
  }

  /** Milliseconds until the first job is due that is not yet; `undefined` where none will be. */
  get untilDueMs(): number | undefined {
    return this.line.nextDueAt && Math.max(0, this.line.nextDueAt - this.clock.monotonic());
  }

  /** The same for the first job that may start then, rate limits considered. */
  get untilNextMs(): number | undefined {
    const waits = [this.untilDueMs, this.limits.untilFreeMs].filter((ms) => ms !== undefined);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Takes one job at once, without a promise, unless another one holds its key. */
  add(job: NewJob): EnqueueResult {
    const holder = this.keys.holderOf(job);
    if (holder !== undefined) return this.addBeside(holder, job);
    const isPlain = job.uniqueKey === undefined && job.expiresInMs === undefined && job.expiresAt === undefined;
    if (isPlain && this.waitOf(job) <= 0) this.line.pushDue(job);
    else this.enter(this.entryOf(job));
    this.wakeAll();
    return enqueueResult(job.id, 'stored');
  }

  /** Takes a batch with the jobs of its first step. */
  addBatch(batch: NewBatch): StoredBatch {
    return this.batches.add(batch);
  }

  /** Whether the job of this id waits or runs; looks at all of them. */
  holds(id: string): boolean {
    return this.line.has(id) || [...this.running.values()].some((job) => job.id === id);
  }

  /** Takes out a job that waits or runs. Returns where it was: of a running one its claim, which stands no longer. */
  cancel(id: string): 'pending' | Lease | undefined {
    const running = [...this.running.values()].find((job) => job.id === id);
    if (running !== undefined) {
      this.running.delete(running.token);
      this.line.keyEnded(running.source);
      this.over(running.source, 'failed');
      return { id, token: running.token };
    }
    const waiting = this.line.remove(id);
    if (waiting === undefined) return undefined;
    this.over(waiting, 'failed');
    return 'pending';
  }

  /** Forgets all waiting jobs and returns how many they were. */
  clear(): number {
    const count = this.waiting;
    for (const part of [this.line, this.batches]) part.clear();
    this.keys.releaseWaiting();
    return count;
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  insert(jobs: readonly NewJob[]): Promise<void> {
    for (const job of jobs) this.add(job);
    return Promise.resolve();
  }

  admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return Promise.resolve(jobs.map((job) => this.add(job)));
  }

  exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const lost: Lease[] = [];
    for (const settlement of request.settle) {
      if (!this.settle(settlement)) lost.push({ id: settlement.id, token: settlement.token });
    }
    if (request.settle.length > 0) this.onSettled();
    return Promise.resolve({ lost, claimed: request.claim === undefined ? [] : this.claim(request.claim) });
  }

  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    return Promise.resolve(this.limits.claim(request));
  }

  extend(leases: readonly Lease[]): Promise<readonly Lease[]> {
    return Promise.resolve(leases.filter(({ token }) => !this.running.has(token)));
  }

  /** Nobody can look at a job in memory. */
  note(_notes: readonly JobNote[]): Promise<void> {
    return Promise.resolve();
  }

  foreignClaims(): Promise<readonly ForeignClaims[]> {
    return Promise.resolve([]);
  }

  recover(_request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    return Promise.resolve([]);
  }

  disown(): Promise<number> {
    return Promise.resolve(0);
  }

  prune(_request: PruneRequest): Promise<number> {
    return Promise.resolve(0);
  }

  pruneSlots(): Promise<number> {
    return Promise.resolve(0);
  }

  pendingTypes(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  listen(wake: () => void): Promise<() => Promise<void>> {
    this.listeners.add(wake);
    return Promise.resolve(() => {
      this.listeners.delete(wake);
      return Promise.resolve();
    });
  }

  close(): Promise<void> {
    this.line.stopTimer();
    return Promise.resolve();
  }

  private claim({ limit, caps = {} }: ClaimRequest): ClaimedJob[] {
    this.line.promote();
    const claimed: ClaimedJob[] = [];
    const left = new Map(Object.entries(caps));
    while (claimed.length < limit) {
      const next = this.line.shift(left);
      if (next === undefined) break;
      claimed.push(this.hand(next));
    }
    return claimed;
  }

  private hand(next: NewJob | WaitingJob): ClaimedJob {
    const claimed = toRunningJob(next, String(++this.claims), this.clock.monotonic());
    this.running.set(claimed.token, claimed);
    this.keys.runs(claimed.source);
    return claimed;
  }

  private settle({ token, outcome }: Settlement): boolean {
    const job = this.running.get(token);
    if (job === undefined) return false;
    this.running.delete(token);
    if (outcome.kind === 'retried') this.again(job, outcome.delayMs, job.attempts + 1);
    else if (outcome.kind === 'snoozed' || outcome.kind === 'released') this.again(job, outcome.delayMs, job.attempts);
    else {
      this.line.keyEnded(job.source);
      this.over(job.source, outcome.kind === 'completed' ? 'completed' : 'failed');
    }
    return true;
  }

  private over(job: NewJob, how: 'completed' | 'failed'): void {
    this.keys.release(job);
    if (job.batchId !== undefined) this.batches.ended(job.batchId, how);
  }

  private again({ source, expiresAt }: RunningJob, delayMs: number, attempts: number): void {
    const dueAt = this.clock.monotonic() + delayMs;
    const entry = { job: source, dueAt, attempts, order: this.added++, expiresAt, wasHanded: true };
    this.line.pushAgain(entry);
    this.keys.waits(entry);
  }

  private addBeside({ id, entry }: KeyHolder<WaitingJob>, job: NewJob): EnqueueResult {
    if (entry === undefined) return enqueueResult(id, 'running');
    const { expiresAt = Infinity } = entry.replacement ?? entry;
    // What has expired will never run; to leave it to that would lose this job too.
    const isReplacing = job.onDuplicate === 'replace' || expiresAt <= this.clock.monotonic();
    if (!isReplacing) return enqueueResult(id, 'waiting');
    this.line.replace(entry, this.entryOf({ ...job, id, key: entry.job.key }));
    this.wakeAll();
    return enqueueResult(id, 'replaced');
  }

  private enter(entry: WaitingJob): void {
    this.line.push(entry);
    this.keys.waits(entry);
  }

  private entryOf(job: NewJob): WaitingJob {
    const now = this.clock.monotonic();
    const leftMs = job.expiresAt === undefined ? job.expiresInMs : job.expiresAt - this.clock.now();
    const expiresAt = leftMs === undefined ? undefined : now + leftMs;
    return { job, dueAt: now + Math.max(0, this.waitOf(job)), attempts: 0, order: this.added++, expiresAt };
  }

  private waitOf({ runAt, delayMs = 0 }: NewJob): number {
    return runAt === undefined ? delayMs : runAt - this.clock.now();
  }

  private wakeAll(): void {
    for (const listener of this.listeners) listener();
  }
}
