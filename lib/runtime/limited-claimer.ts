import type { Attempt } from '../execution/attempt.js';
import type { ClaimedJob } from '../model/job.js';
import type { LimitedType } from '../model/limited-type.js';
import { graceOf, longestGraceMs } from '../model/start-times.js';
import type { AskedType, LimitedClaimRequest } from '../stores/job-store.js';
import type { Crew } from './crew.js';
import { isFull, mostCharacters } from './flow.js';
import { Loop } from './loop.js';
import { Outage } from './outage.js';
import { Suspicion } from './suspicion.js';
import { roomLeft } from './type-caps.js';
import type { WorkerParts, WorkerSettings } from './worker-parts.js';

/** After a look that found nothing, wake-ups are of no use for so long: each job that is stored wakes, of whatever type. */
const pauseMs = 20;
const shortestGraceMs = 10;
/** As long as nothing is known of how long claims take. */
const firstGraceMs = 100;
const outageRestMs = 250;

export interface LimitedClaimerParts extends WorkerParts {
  readonly crew: Crew;
  readonly settings: WorkerSettings;
  /** A job that was interrupted more often is a suspect. */
  readonly mostInnocent: number;
  readonly hold: (job: ClaimedJob, sentAt: number) => Attempt;
  readonly answer: <T>(statement: Promise<T>) => Promise<T>;
  /** Whether the store is known not to answer. */
  readonly isOut: () => boolean;
  /** Called when slots that were kept are free for others again. */
  readonly onDone: () => void;
}

/**
 * Claims the jobs of types that have limits of the whole fleet, beside the way of all others and without holding that up: in a loop of its own,
 * never ahead of free workers, since a job that waits here would use a permit for nothing.
 *
 * Where a rate limit holds jobs back, their type is not asked for before the moment at which the next one may start.
 */
export class LimitedClaimer {
  private readonly loop = new Loop(() => this.turn());
  private readonly outage: Outage;
  private readonly suspicion: Suspicion | undefined;
  /** Until when types are held back, on the monotonic clock. */
  private readonly heldBack = new Map<string, number>();
  private graceMs = firstGraceMs;
  private emptyAt = -Infinity;
  private failures = 0;
  private underWay = 0;

  constructor(private readonly parts: LimitedClaimerParts) {
    const { outages, clock, keeper } = parts;
    this.outage = new Outage(outages);
    this.suspicion = keeper === undefined ? undefined : new Suspicion(clock.monotonic());
  }

  /** Whether no claim is under way, and what was claimed is in the hands of the crew. */
  get isIdle(): boolean {
    return this.underWay === 0;
  }

  start(): void {
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Jobs have ended in the store: what they used is free again. */
  freed(): void {
    this.emptyAt = -Infinity;
    this.loop.wake();
  }

  /** Claims one job beside the loop, of whatever type. It must start at once. */
  async claimOne(): Promise<Attempt | undefined> {
    const asked = this.askable(this.parts.clock.monotonic(), undefined);
    if (asked.length === 0) return undefined;
    const mostInterruptions = this.parts.crew.hasSuspect ? this.parts.mostInnocent : undefined;
    const [attempt] = await this.claim({ types: asked, limit: 1, mostInterruptions });
    return attempt;
  }

  private async turn(): Promise<number> {
    const { clock, crew, keeper, isOut } = this.parts;
    const now = clock.monotonic();
    const types = this.askable(now, this.parts.claimTypes());
    if (types.length === 0) {
      if (crew.isKeeping) this.letGo();
      return this.restMs(now);
    }
    if (isOut()) return outageRestMs;
    const untilReady = this.emptyAt + (keeper === undefined ? 0 : pauseMs) - now;
    if (untilReady > 0) return untilReady;
    const limit = crew.keep(this.share());
    // A slot that gets free wakes this loop.
    if (limit <= 0) return Infinity;
    this.underWay += 1;
    try {
      return await this.round(types, limit);
    } catch (error) {
      return this.failed(error);
    } finally {
      this.underWay -= 1;
      this.letGo();
    }
  }

  /** Keeps no slots any more. */
  private letGo(): void {
    const { crew, onDone } = this.parts;
    crew.keep(0);
    crew.fill();
    onDone();
  }

  /** Half of the slots at the most at once, so that neither kind of work holds up the other. */
  private share(): number {
    const { crew, limited } = this.parts;
    const half = Math.max(1, crew.size >> 1);
    if (crew.free > 0) return Math.min(crew.free, half);
    const types = new Set(limited().map(({ type }) => type));
    const ours = crew.attempts().filter(({ type }) => types.has(type)).length;
    return Math.max(0, half - ours);
  }

  private async round(types: readonly AskedType[], limit: number): Promise<number> {
    const { clock, crew, mostInnocent } = this.parts;
    const { hasSuspect } = crew;
    const now = clock.monotonic();
    const isForSuspect = !hasSuspect && this.suspicion?.isDue(now) === true;
    if (isForSuspect) this.suspicion?.asked(now);
    const isCareful = !isForSuspect && (hasSuspect || this.suspicion?.isAwake(now) === true);
    const wanted = isForSuspect ? 1 : limit;
    const attempts = await this.claim({
      types,
      limit: wanted,
      mostInterruptions: isCareful ? mostInnocent : undefined,
    });
    this.failures = 0;
    this.outage.succeeded();
    crew.keep(0);
    for (const attempt of attempts) this.admit(attempt);
    const claimed = attempts.map(({ job }) => job);
    if (isFull(claimed, { limit: wanted, room: mostCharacters })) return 0;
    if (attempts.length === 0) this.emptyAt = clock.monotonic();
    const restMs = this.restMs(clock.monotonic());
    return isCareful && !hasSuspect ? Math.min(restMs, Math.max(1, this.suspicion?.untilDueMs(now) ?? 0)) : restMs;
  }

  private admit(attempt: Attempt): void {
    const isSuspect = attempt.job.interruptions > this.parts.mostInnocent;
    if (isSuspect) this.suspicion?.saw(this.parts.clock.monotonic());
    if (this.hasRoom(attempt)) this.parts.crew.admitNow(attempt, isSuspect);
    else this.parts.crew.giveBack(attempt);
  }

  /** Another worker of this process may have claimed of this type meanwhile. */
  private hasRoom({ type }: Attempt): boolean {
    const { limits, held } = this.parts;
    return roomLeft(limits(), held).get(type) !== 0;
  }

  private async claim(
    wanted: Pick<LimitedClaimRequest, 'types' | 'limit' | 'mostInterruptions'>,
  ): Promise<readonly Attempt[]> {
    const { store, desk, clock, settings, answer } = this.parts;
    const { owner, leaseMs, queues } = settings;
    this.underWay += 1;
    try {
      return await desk.pass(async () => {
        const sentAt = clock.monotonic();
        const request = { ...wanted, owner, leaseMs, queues, room: mostCharacters };
        const { claimed, waits } = await answer(store.claimLimited(request));
        this.learn({ sentAt, waits, count: claimed.length });
        return claimed.map((job) => this.hold(job, sentAt, wanted.types));
      });
    } finally {
      this.underWay -= 1;
    }
  }

  private hold(job: ClaimedJob, sentAt: number, types: readonly AskedType[]): Attempt {
    const attempt = this.parts.hold(job, sentAt);
    const asked = types.find(({ type }) => type === job.type);
    if (asked?.rateLimit !== undefined) {
      attempt.startsBy = sentAt + asked.graceMs;
      attempt.onLate = () => this.allow(2 * (this.parts.clock.monotonic() - sentAt));
    }
    return attempt;
  }

  /** How long claims take, and which types need not be asked for how long. */
  private learn({ sentAt, waits, count }: { sentAt: number; waits: ReadonlyMap<string, number>; count: number }): void {
    const now = this.parts.clock.monotonic();
    // The wait was worked out after the claim was sent, so from now it is long enough in any case.
    for (const [type, waitMs] of waits) this.heldBack.set(type, now + waitMs);
    if (count === 0) return;
    this.graceMs = Math.floor(this.graceMs * 0.9);
    this.allow(2 * (now - sentAt));
  }

  /** The next ones may start that much later than their claim, at least. */
  private allow(ms: number): void {
    const needed = Math.ceil(ms) + shortestGraceMs / 2;
    this.graceMs = Math.min(longestGraceMs, Math.max(shortestGraceMs, this.graceMs, needed));
  }

  /** The types of which a job may be claimed here now; of all where none are known. */
  private askable(now: number, known: readonly string[] | undefined): readonly AskedType[] {
    const { limited, limits, held } = this.parts;
    const all = limited();
    if (all.length === 0) return [];
    const left = roomLeft(limits(), held);
    return all
      .filter(({ type }) => (known?.includes(type) ?? true) && (this.heldBack.get(type) ?? 0) <= now)
      .map((limit) => ({ ...limit, most: left.get(limit.type) ?? Infinity, graceMs: this.graceFor(limit) }))
      .filter(({ most }) => most > 0);
  }

  private graceFor({ rateLimit }: LimitedType): number {
    // Where no time passes by itself, a job starts at the moment of its claim.
    if (rateLimit === undefined || this.parts.clock.isStill === true) return 0;
    return graceOf(rateLimit, this.graceMs);
  }

  private restMs(now: number): number {
    const all = this.parts.limited();
    if (all.length === 0) return Infinity;
    const waits = all.map(({ type }) => Math.ceil((this.heldBack.get(type) ?? 0) - now));
    const held = waits.filter((waitMs) => waitMs > 0);
    const pollMs = held.length === all.length ? Infinity : this.parts.settings.pollMs * (1 + Math.random() * 0.2);
    return Math.min(pollMs, ...held);
  }

  /** The worker meets most failures too, and reports them; what only this way meets is reported here. */
  private failed(error: unknown): number {
    this.failures += 1;
    return this.failures === 1 || this.parts.isOut() ? outageRestMs : this.outage.failed(error);
  }
}
