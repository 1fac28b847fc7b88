import type { Attempt } from '../execution/attempt.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { JobStore, LostLease } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';

export interface LeaseKeeperParts {
  readonly store: JobStore;
  readonly events: JobEvents;
  readonly clock: Clock;
  readonly leaseMs: number;
}

/**
 * Heartbeat: renews all leases of this process in one statement, three times in a lease, from the claim until the
 * outcome is stored, and so also while the queue drains.
 *
 * A lease that another worker has taken, or that could not be renewed until it must count as over, aborts its attempt. The
 * latter happens before another process may start the job, since it is judged from the moment before the last renewal was sent.
 */
export class LeaseKeeper {
  private readonly held = new Set<Attempt>();
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private isAsleep = false;

  constructor(private readonly parts: LeaseKeeperParts) {}

  hold(attempt: Attempt): void {
    this.held.add(attempt);
    this.loop.start();
    if (this.isAsleep) this.loop.wake();
  }

  drop(attempt: Attempt): void {
    this.held.delete(attempt);
  }

  /** Whether the lease must count as over unless the store says otherwise: nobody may start the job any more. */
  isOver(attempt: Attempt): boolean {
    return attempt.renewedAt <= this.parts.clock.monotonic() - this.safeMs;
  }

  /** All claims that this process holds. */
  attempts(): readonly Attempt[] {
    return [...this.held];
  }

  /** Stops renewing; what is still held is left to its lease. */
  async stop(): Promise<void> {
    this.held.clear();
    await this.loop.stop();
  }

  private async turn(): Promise<number> {
    const { clock, leaseMs } = this.parts;
    this.isAsleep = this.held.size === 0;
    if (this.isAsleep) return Infinity;
    const wait = oldestRenewal(this.held) + leaseMs / 3 - clock.monotonic();
    if (wait > 1) return wait;
    this.abortExpired();
    try {
      await this.renew();
      return 0;
    } catch {
      // The worker reports the outage; here only the leases count.
      this.abortExpired();
      return this.marginMs;
    }
  }

  private async renew(): Promise<void> {
    const { store, clock, leaseMs } = this.parts;
    const attempts = this.attempts();
    const sentAt = clock.monotonic();
    const leases = attempts.map(({ job }) => ({ id: job.id, token: job.token }));
    const lost = await withDeadline(store.extend(leases, leaseMs), this.patienceMs(attempts, sentAt));
    const lostLeases = new Map(lost.map((lease) => [lease.token, lease]));
    for (const attempt of attempts) {
      const lostLease = lostLeases.get(attempt.job.token);
      if (lostLease === undefined) attempt.renewedAt = sentAt;
      else this.lose(attempt, lostLease);
    }
  }

  /** A settlement may have ended the claim while the heartbeat was on its way: then it is not lost, just over, and its answer says so. */
  private lose(attempt: Attempt, { isCancelled = false }: LostLease): void {
    if (!this.held.delete(attempt) || attempt.hasEnded) return;
    attempt.isLost = true;
    attempt.abort(isCancelled ? 'cancelled' : 'lease lost');
    if (isCancelled) this.parts.events.emit('cancelled', { job: attempt.job });
    else this.parts.events.emit('lost', { job: attempt.job, outcome: undefined, hasBegun: attempt.hasBegun });
  }

  /** No answer may be waited for until after the moment at which an attempt has to be told to end. */
  private patienceMs(attempts: readonly Attempt[], now: number): number {
    const going = attempts.filter(({ aborted }) => aborted === undefined);
    const untilAbort = oldestRenewal(going) + this.safeMs - now;
    return Math.max(1, Math.min(this.parts.leaseMs / 3, untilAbort));
  }

  /** For so long after its renewal was sent a lease counts as standing. */
  private get safeMs(): number {
    return this.parts.leaseMs - this.marginMs * 2;
  }

  private get marginMs(): number {
    return Math.min(1_000, this.parts.leaseMs / 10);
  }

  private abortExpired(): void {
    for (const attempt of this.held) {
      if (this.isOver(attempt)) attempt.abort('lease lost');
    }
  }
}

function oldestRenewal(attempts: Iterable<Attempt>): number {
  let oldest = Infinity;
  for (const attempt of attempts) oldest = Math.min(oldest, attempt.renewedAt);
  return oldest;
}
