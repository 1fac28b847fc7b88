import type { Clock } from '../../model/clock.js';
import type { ClaimedJob, Lease, NewJob } from '../../model/job.js';
import { startTimer } from '../../model/timer.js';
import type {
  ExchangeRequest,
  ExchangeResult,
  ForeignClaims,
  JobStore,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
  Settlement,
} from '../job-store.js';
import { Fifo } from '../../model/fifo.js';
import { Heap } from '../../model/heap.js';

/** A job that waits; what `claimed` needs is made only when it is claimed, so that a million of them stay small. */
interface WaitingJob {
  readonly job: NewJob;
  /** On the monotonic clock: a wait is as long as it was to be, whatever becomes of the time of day meanwhile. */
  readonly dueAt: number;
  readonly attempts: number;
  /** Keeps jobs that are due at the same moment in their order. */
  readonly order: number;
}

/**
 * Jobs in the memory of this process: due ones in a queue, later ones in a heap.
 *
 * Nobody else can take its jobs and its worker dies with it, so leases never end: `extend`, `recover` and `disown` have
 * nothing to do. Finished and failed jobs are not kept.
 */
export class MemoryStore implements JobStore {
  private readonly due = new Fifo<NewJob | WaitingJob>();
  private readonly later = new Heap<WaitingJob>(
    (a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order),
  );
  private readonly running = new Map<string, ClaimedJob & { readonly source: NewJob }>();
  private readonly listeners = new Set<() => void>();
  private claims = 0;
  private added = 0;
  private timer: { readonly at: number; readonly stop: () => void } | undefined;

  /** @param onSettled Called after outcomes have been settled. */
  constructor(
    private readonly clock: Clock,
    private readonly onSettled: () => void = () => undefined,
  ) {}

  /** Jobs that wait to be run, due or not. */
  get waiting(): number {
    return this.due.size + this.later.size;
  }

  /** Jobs that wait or run. */
  get size(): number {
    return this.waiting + this.running.size;
  }

  /** Whether some job runs, is due, or becomes due until `moment` (monotonic). */
  hasWorkUntil(moment: number): boolean {
    const soonest = this.later.peek();
    return this.due.size + this.running.size > 0 || (soonest !== undefined && soonest.dueAt <= moment);
  }

  /** Takes one job at once, without a promise. */
  add(job: NewJob): void {
    const waitMs = job.runAt === undefined ? job.delayMs : job.runAt - this.clock.now();
    if (waitMs <= 0) this.due.push(job);
    else this.postpone(job, waitMs, 0);
    for (const listener of this.listeners) listener();
  }

  /** Forgets all waiting jobs and returns how many they were. */
  clear(): number {
    const count = this.waiting;
    this.due.clear();
    this.later.clear();
    this.stopTimer();
    return count;
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  insert(jobs: readonly NewJob[]): Promise<void> {
    for (const job of jobs) this.add(job);
    return Promise.resolve();
  }

  exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const lost: Lease[] = [];
    for (const settlement of request.settle) {
      if (!this.settle(settlement)) lost.push({ id: settlement.id, token: settlement.token });
    }
    if (request.settle.length > 0) this.onSettled();
    return Promise.resolve({ lost, claimed: this.claim(request.claim?.limit ?? 0) });
  }

  extend(leases: readonly Lease[]): Promise<readonly Lease[]> {
    return Promise.resolve(leases.filter(({ token }) => !this.running.has(token)));
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
    this.stopTimer();
    return Promise.resolve();
  }

  private claim(limit: number): ClaimedJob[] {
    this.promote();
    const claimed: ClaimedJob[] = [];
    while (claimed.length < limit) {
      const next = this.due.shift();
      if (next === undefined) break;
      claimed.push(this.hand(next));
    }
    return claimed;
  }

  private hand(next: NewJob | WaitingJob): ClaimedJob {
    const waiting = 'job' in next ? next : undefined;
    const source = waiting?.job ?? (next as NewJob);
    const token = String(++this.claims);
    const claimed = {
      id: source.id,
      token,
      type: source.type,
      payload: source.payload,
      attempts: waiting?.attempts ?? 0,
      maxRetries: source.maxRetries,
      interruptions: 0,
      context: source.context,
      run: source.run,
      source,
    };
    this.running.set(token, claimed);
    return claimed;
  }

  private settle({ token, outcome }: Settlement): boolean {
    const job = this.running.get(token);
    if (job === undefined) return false;
    this.running.delete(token);
    if (outcome.kind === 'retried') this.again(job, outcome.delayMs, job.attempts + 1);
    else if (outcome.kind === 'released') this.again(job, outcome.delayMs, job.attempts);
    return true;
  }

  private again(job: ClaimedJob & { readonly source: NewJob }, delayMs: number, attempts: number): void {
    this.postpone(job.source, delayMs, attempts);
  }

  private postpone(job: NewJob, delayMs: number, attempts: number): void {
    this.later.push({ job, dueAt: this.clock.monotonic() + delayMs, attempts, order: this.added++ });
    this.armTimer();
  }

  private promote(): void {
    const now = this.clock.monotonic();
    for (let next = this.later.peek(); next !== undefined && next.dueAt <= now; next = this.later.peek()) {
      this.later.pop();
      // A moment may have moved away meanwhile: the time of day was set back.
      const earlyMs = next.attempts > 0 ? 0 : (next.job.runAt ?? 0) - this.clock.now();
      if (earlyMs > 0) this.later.push({ ...next, dueAt: now + earlyMs });
      else this.due.push(next);
    }
    this.armTimer();
  }

  private armTimer(): void {
    const next = this.later.peek();
    if (next?.dueAt === this.timer?.at) return;
    this.stopTimer();
    if (next === undefined) return;
    const fire = (): void => {
      this.timer = undefined;
      for (const listener of this.listeners) listener();
    };
    this.timer = { at: next.dueAt, stop: startTimer(next.dueAt - this.clock.monotonic(), fire) };
  }

  private stopTimer(): void {
    this.timer?.stop();
    this.timer = undefined;
  }
}
