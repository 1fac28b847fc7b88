import type { Attempt } from '../execution/attempt.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { JobStore } from '../stores/job-store.js';
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
    try {
      await this.renew();
      return leaseMs / 3;
    } catch {
      // The worker reports the outage; here only the leases count.
      this.abortExpired();
      return Math.min(1_000, leaseMs / 10);
    }
  }

  private async renew(): Promise<void> {
    const { store, clock, leaseMs } = this.parts;
    const attempts = this.attempts();
    const sentAt = clock.monotonic();
    const leases = attempts.map(({ job }) => ({ id: job.id, token: job.token }));
    const lost = await withDeadline(store.extend(leases, leaseMs), leaseMs / 3);
    const lostTokens = new Set(lost.map((lease) => lease.token));
    for (const attempt of attempts) {
      if (lostTokens.has(attempt.job.token)) this.lose(attempt);
      else attempt.renewedAt = sentAt;
    }
  }

  /** A settlement may have ended the claim while the heartbeat was on its way: then it is not lost, just over. */
  private lose(attempt: Attempt): void {
    if (!this.held.delete(attempt)) return;
    attempt.isLost = true;
    attempt.abort('lease lost');
    this.parts.events.emit('lost', { job: attempt.job, outcome: undefined });
  }

  private abortExpired(): void {
    const { clock, leaseMs } = this.parts;
    const margin = Math.min(1_000, leaseMs / 10);
    const expired = clock.monotonic() - leaseMs + margin * 2;
    for (const attempt of this.held) {
      if (attempt.renewedAt <= expired) attempt.abort('lease lost');
    }
  }
}

function oldestRenewal(attempts: Iterable<Attempt>): number {
  let oldest = Infinity;
  for (const attempt of attempts) oldest = Math.min(oldest, attempt.renewedAt);
  return oldest;
}
