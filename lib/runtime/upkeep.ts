import type { Attempt } from '../execution/attempt.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { ForeignClaims, JobStore, RecoverRequest } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { Loop } from './loop.js';

export interface UpkeepSettings {
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly owner: string;
  readonly maxInterruptions: number;
  readonly interruptionBackoffMs: number;
}

export interface UpkeepParts {
  readonly store: JobStore;
  readonly events: JobEvents;
  readonly clock: Clock;
  /** Types that this process can run; `undefined` means any. */
  readonly knownTypes: () => readonly string[] | undefined;
  readonly attempts: () => readonly Attempt[];
  /** Called when jobs have become due again. */
  readonly onRecovered: () => void;
  /** Whether the process of this name is proven to be dead. */
  readonly isDead: (owner: string) => Promise<boolean>;
  /** Called when a dead owner's jobs have been taken back. */
  readonly onForgotten: (owner: string) => Promise<void>;
}

const recoverBatch = 100;
const answerMs = 30_000;
const failureRestMs = 1_000;
const longestRestMs = 30_000;
const typesIntervalMs = 60_000;
/** An attempt that runs longer than this is reported once; with a shorter lease it would still be healthy, but somebody should know. */
const slowAfterMs = 300_000;

/** What must be looked after all the time: leases of dead workers, jobs that nobody knows, attempts that do not end. */
export class Upkeep {
  private readonly loop = new Loop(() => this.turn(), 'unref');
  private typesCheckedAt: number;
  /** How far the clock of the machine was ahead of the one that never jumps, at the last look. */
  private clockLead: number;
  /** Until when leases that look over are left to their owners, on the monotonic clock. */
  private patientUntil = -Infinity;
  private readonly reportedTypes = new Set<string>();

  constructor(
    private readonly parts: UpkeepParts,
    private readonly settings: UpkeepSettings,
  ) {
    this.typesCheckedAt = parts.clock.monotonic() - typesIntervalMs;
    this.clockLead = parts.clock.now() - parts.clock.monotonic();
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Takes back the jobs of dead workers. Resolves to the milliseconds until it is worth to look again. */
  async recover(): Promise<number> {
    const { store, isDead, clock } = this.parts;
    this.watchClock();
    const patienceMs = this.patientUntil - clock.monotonic();
    if (patienceMs > 0) return patienceMs;
    const claims = await withDeadline(store.foreignClaims(this.settings.owner), answerMs);
    const deadOwners: string[] = [];
    for (const { owner } of claims) if (owner !== undefined && (await isDead(owner))) deadOwners.push(owner);
    const isAnyDue = claims.some(({ endsInMs }) => endsInMs === undefined || endsInMs <= 0);
    if (isAnyDue || deadOwners.length > 0) await this.takeBack(deadOwners);
    return this.restMs(claims);
  }

  /**
   * Where the machine's clock judges leases, as on SQLite, all of them look over when it is put forward, or when the machine has slept. Their
   * owners were not there to renew them either, and do so within a third of a lease.
   */
  private watchClock(): void {
    const { clock } = this.parts;
    const { leaseMs } = this.settings;
    const lead = clock.now() - clock.monotonic();
    if (lead - this.clockLead > leaseMs / 4) this.patientUntil = clock.monotonic() + leaseMs / 2;
    this.clockLead = lead;
  }

  private async takeBack(deadOwners: readonly string[]): Promise<void> {
    const { store, events, onRecovered, onForgotten } = this.parts;
    for (;;) {
      const request = { ...this.recoverRequest(), deadOwners };
      const recovered = await withDeadline(store.recover(request), answerMs);
      for (const job of recovered) events.emit('interrupted', job);
      if (recovered.some(({ state }) => state === 'pending')) onRecovered();
      if (recovered.length < recoverBatch) break;
    }
    for (const owner of deadOwners) await onForgotten(owner);
  }

  /** A claim that is made after this look ends a whole lease later, so nothing is missed by resting until the first one ends. */
  private restMs(claims: readonly ForeignClaims[]): number {
    const ends = claims.map(({ endsInMs }) => endsInMs ?? 0).filter((endsInMs) => endsInMs > 0);
    const soonest = Math.min(...ends, this.settings.leaseMs, longestRestMs);
    return Math.max(this.settings.pollMs, soonest);
  }

  private async turn(): Promise<number> {
    this.reportSlow();
    try {
      const restMs = await this.recover();
      await this.reportUnknownTypes();
      return restMs;
    } catch {
      // The worker meets the same failure and reports it.
      return Math.max(this.settings.pollMs, failureRestMs);
    }
  }

  private recoverRequest(): RecoverRequest {
    const { owner, maxInterruptions, interruptionBackoffMs } = this.settings;
    return { owner, maxInterruptions, backoffMs: interruptionBackoffMs, limit: recoverBatch };
  }

  private async reportUnknownTypes(): Promise<void> {
    const { store, events, clock } = this.parts;
    const known = this.parts.knownTypes();
    if (known === undefined || clock.monotonic() - this.typesCheckedAt < typesIntervalMs) return;
    this.typesCheckedAt = clock.monotonic();
    const pending = await withDeadline(store.pendingTypes(), answerMs);
    const types = pending.filter((type) => !known.includes(type) && !this.reportedTypes.has(type));
    for (const type of types) this.reportedTypes.add(type);
    if (types.length > 0) events.emit('unknown-types', { types });
  }

  private reportSlow(): void {
    const now = this.parts.clock.monotonic();
    for (const attempt of this.parts.attempts()) {
      const durationMs = now - attempt.startedAt;
      if (attempt.isReported || durationMs < slowAfterMs) continue;
      attempt.isReported = true;
      this.parts.events.emit('slow', { job: attempt.job, durationMs });
    }
  }
}
