import { Attempt, type AttemptParts } from '../execution/attempt.js';
import type { ClaimedJob, Lease } from '../model/job.js';
import type { ClaimRequest, ExchangeResult } from '../stores/job-store.js';
import { batchesOf } from './batch-closer.js';
import { ClaimMaker } from './claim-maker.js';
import { Crew } from './crew.js';
import { withDeadline } from './deadline.js';
import { Flow, isFull } from './flow.js';
import { Intake } from './intake.js';
import { LimitedClaimer } from './limited-claimer.js';
import { LoneRunner } from './lone-runner.js';
import { LookAhead } from './look-ahead.js';
import { Loop } from './loop.js';
import { Outage } from './outage.js';
import { settlementsOf, Settler, type Ended } from './settler.js';
import { Suspicion } from './suspicion.js';
import { capTypes, type CappedTypes } from './type-caps.js';
import { Watch } from './watch.js';
import type { WorkerParts, WorkerSettings } from './worker-parts.js';

/** An answer of the store that takes longer counts as none. */
const answerMs = 30_000;

/**
 * Claims jobs of one store and has them run, until it is stopped for good.
 *
 * One loop exchanges with the store: each turn hands over the outcomes that have gathered and claims as many jobs as there are free
 * workers, plus a bounded look-ahead. Meanwhile jobs that are at hand run and the next outcomes gather. An idle worker sends one
 * statement a poll; a lone job waits for nobody. A second loop relieves the first where a long backlog of short jobs would have one of the
 * two wait for the other all the time: the store for this process, or this process for the store.
 */
export class Worker {
  private readonly loop = new Loop(() => this.turn());
  private readonly relief = new Loop(() => this.reliefTurn());
  private readonly flow: Flow;
  private readonly claims: ClaimMaker;
  private readonly intake: Intake;
  private readonly settler: Settler;
  private readonly crew: Crew;
  private readonly outage: Outage;
  private readonly lookAhead: LookAhead;
  /** Absent where a crash leaves nothing behind. */
  private readonly suspicion: Suspicion | undefined;
  private readonly attemptParts: AttemptParts;
  /** Claims what has limits of the whole fleet. */
  private readonly limitedClaimer: LimitedClaimer;
  private readonly loneRunner: LoneRunner;
  private roundTripMs = 1;
  private isStopping = false;
  /** Exchanges without an answer yet. */
  private underWay = 0;
  private readonly watch = new Watch();

  constructor(
    private readonly parts: WorkerParts,
    private readonly settings: WorkerSettings,
  ) {
    const { events, keeper, clock, meter, makeLogger } = parts;
    this.attemptParts = { makeLogger, onNoted: parts.notes.add, once: parts.once?.run };
    const onStored = (batch: readonly Ended[]): void => {
      parts.batches?.tell(batchesOf(batch));
      parts.onFreed();
    };
    this.settler = new Settler(events, keeper, clock, { meter, onStored, mostAtOnce: parts.store.mostAtOnce });
    this.outage = new Outage(parts.outages);
    this.lookAhead = new LookAhead(settings.prefetch, clock.monotonic());
    this.flow = new Flow(() => parts.store.exchangesAtOnce ?? 1);
    this.suspicion = keeper === undefined ? undefined : new Suspicion(clock.monotonic());
    const isOver = (attempt: Attempt): boolean => keeper?.isOver(attempt) === true;
    const { settler, suspicion } = this;
    this.crew = new Crew({ ...parts, settler, isOver, prefetch: settings.prefetch, onEnded: () => this.ended() });
    this.claims = this.makeClaimMaker();
    this.intake = new Intake({ ...this.shared, suspicion, capped: () => this.capped(undefined) });
    this.limitedClaimer = this.makeLimitedClaimer();
    this.loneRunner = this.makeLoneRunner();
  }

  /** Starts claiming for `slots` jobs at the same time. */
  start(slots: number): void {
    this.crew.open(slots);
    this.loop.start();
    this.relief.start();
    this.limitedClaimer.start();
  }

  /** There may be work: look at once. */
  wake(): void {
    this.loop.wake();
    this.limitedClaimer.wake();
  }

  /** Jobs have ended in the store: others of their types may start. */
  freed(): void {
    this.limitedClaimer.freed();
  }

  /** These claims stand no longer: their jobs were cancelled. */
  cancel(claims: readonly Lease[]): void {
    for (const { token } of claims) this.crew.cancel(token);
    this.freed();
  }

  /** The types of the jobs that run, or will run next. */
  held(): readonly string[] {
    return this.crew.held().map(({ type }) => type);
  }

  /** Attempts that are under way. */
  attempts(): readonly Attempt[] {
    return this.crew.attempts();
  }

  /**
   * Stops claiming, gives back what has not started, and waits for what runs and for its outcomes to be stored. After
   * `timeoutMs` attempts are told to end; those that do not within `graceMs` are abandoned. The store has what is left of the time, so that a
   * short outage costs no outcome. Takes at most `timeoutMs` and three times `graceMs`.
   */
  async stop(timeoutMs: number, graceMs: number): Promise<void> {
    const { clock } = this.parts;
    const endsAt = clock.monotonic() + timeoutMs;
    this.isStopping = true;
    void this.limitedClaimer.stop();
    this.crew.close();
    this.ended();
    await this.watch.until(() => this.crew.isIdle, timeoutMs);
    this.crew.abort();
    await this.watch.until(() => this.crew.isIdle, graceMs);
    this.crew.abandon();
    const isSettled = (): boolean =>
      this.settler.size === 0 && this.underWay === 0 && this.limitedClaimer.isIdle && this.loneRunner.isIdle;
    await this.watch.until(isSettled, Math.max(0, endsAt - clock.monotonic()) + graceMs);
    for (const loop of [this.loop, this.relief]) void loop.stop().then(() => this.watch.notify());
    await this.watch.until(() => !this.loop.isActive && !this.relief.isActive, graceMs);
    this.settler.giveUp();
  }

  /**
   * Claims one job of any type and runs it to its end, beside the loop or without it. Says whether there was one.
   *
   * @throws what the store throws when it cannot be asked; a job that was claimed is settled however long that takes.
   */
  runOne(): Promise<boolean> {
    return this.loneRunner.runOne();
  }

  private async turn(): Promise<number> {
    const { clock } = this.parts;
    this.crew.giveBackStale(clock.monotonic() - Math.max(this.settings.pollMs, 500));
    if (this.outage.isOn) return this.probe();
    const batch = this.settler.take();
    const claim = this.nextClaim();
    if (batch.length === 0 && claim === undefined) return this.restMs([], claim);
    return this.tried(batch, claim);
  }

  private async reliefTurn(): Promise<number> {
    const claim = this.flow.isOn && !this.outage.isOn ? this.nextClaim() : undefined;
    if (claim === undefined) return Infinity;
    const restMs = await this.tried(this.settler.take(), claim);
    // What came back or goes back is seen to by the other loop, which may rest by now: above all when the worker stops.
    this.loop.wake();
    return restMs;
  }

  private async tried(batch: readonly Ended[], claim: ClaimRequest | undefined): Promise<number> {
    try {
      const { claimed } = await this.exchange(batch, claim);
      return this.restMs(claimed, claim);
    } catch (error) {
      return this.pause(this.outage.failed(error));
    }
  }

  /** While the store fails: one outcome and the claim, each by itself, so that neither holds up the other. */
  private async probe(): Promise<number> {
    const batch = this.settler.take(1);
    const claim = this.nextClaim();
    const failures: unknown[] = [];
    if (batch.length > 0) await this.exchange(batch, undefined).catch((error: unknown) => failures.push(error));
    if (claim !== undefined) await this.exchange([], claim).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) return this.pause(this.outage.failed(failures[0]));
    this.outage.succeeded();
    return 0;
  }

  private async exchange(batch: readonly Ended[], claim: ClaimRequest | undefined): Promise<ExchangeResult> {
    this.underWay += 1;
    try {
      return await (claim === undefined
        ? this.trip(batch, claim)
        : this.parts.desk.pass(() => this.claimingTrip(batch, claim)));
    } catch (error) {
      this.settler.putBack(batch);
      throw error;
    } finally {
      this.underWay -= 1;
      this.watch.notify();
    }
  }

  private async claimingTrip(batch: readonly Ended[], claim: ClaimRequest): Promise<ExchangeResult> {
    let claimed: number | undefined;
    this.flow.sent(claim);
    try {
      const result = await this.trip(batch, claim);
      claimed = result.claimed.length;
      return result;
    } finally {
      this.flow.answered(claim, claimed);
      if (this.flow.isOn) this.relief.wake();
    }
  }

  private async trip(batch: readonly Ended[], claim: ClaimRequest | undefined): Promise<ExchangeResult> {
    const { store, clock } = this.parts;
    const sentAt = clock.monotonic();
    const result = await this.answer(store.exchange({ settle: settlementsOf(batch), claim }));
    this.roundTripMs = clock.monotonic() - sentAt;
    this.settler.stored(batch, result.lost);
    this.crew.stored(batch);
    this.intake.admit(result.claimed, sentAt);
    return result;
  }

  /** A store whose leases never end is this process's own memory, which always answers. */
  private answer<T>(statement: Promise<T>): Promise<T> {
    return this.parts.keeper === undefined ? statement : withDeadline(statement, answerMs);
  }

  private hold(job: ClaimedJob, sentAt: number): Attempt {
    const attempt = new Attempt(job, sentAt, this.attemptParts);
    this.parts.keeper?.hold(attempt);
    return attempt;
  }

  private nextClaim(): ClaimRequest | undefined {
    return this.isStopping ? undefined : this.claims.next(this.parts.clock.monotonic(), this.roundTripMs);
  }

  private capped(types: readonly string[] | undefined): CappedTypes {
    const { limits, limited, held } = this.parts;
    return capTypes(types, { limits: limits(), limited: limited() }, held);
  }

  private restMs(claimed: readonly ClaimedJob[], claim: ClaimRequest | undefined): number {
    if (this.settler.size > 0 || (claim !== undefined && isFull(claimed, claim))) return 0;
    return this.claims.restMs(claim, this.parts.clock.monotonic());
  }

  private ended(): void {
    this.lookAhead.count();
    this.loop.wake();
    if (this.flow.isOn) this.relief.wake();
    if (this.crew.isKeeping) this.limitedClaimer.wake();
    this.watch.notify();
  }

  /** What those who claim beside the loop need as well. */
  private get shared() {
    const { parts, settings, crew } = this;
    const hold = (job: ClaimedJob, sentAt: number): Attempt => this.hold(job, sentAt);
    const answer = <T>(statement: Promise<T>): Promise<T> => this.answer(statement);
    return { ...parts, settings, crew, mostInnocent: this.claims.mostInnocent, hold, answer };
  }

  private makeClaimMaker(): ClaimMaker {
    const { crew, flow, lookAhead, suspicion, settings } = this;
    const capped = (): CappedTypes => this.capped(this.parts.claimTypes());
    return new ClaimMaker({
      crew,
      flow,
      lookAhead,
      suspicion,
      settings,
      capped,
      mostAtOnce: this.parts.store.mostAtOnce,
    });
  }

  private makeLimitedClaimer(): LimitedClaimer {
    const onDone = (): void => {
      this.watch.notify();
      if (this.claims.isHeldUp || this.settler.size > 0) this.loop.wake();
    };
    return new LimitedClaimer({ ...this.shared, isOut: () => this.outage.isOn, onDone });
  }

  private makeLoneRunner(): LoneRunner {
    const { settler, limitedClaimer, outage, watch } = this;
    const parts = { ...this.shared, settler, limitedClaimer, outage, watch, isStopping: () => this.isStopping };
    return new LoneRunner({ ...parts, pause: (ms) => this.pause(ms) });
  }

  /** Waits out a failure; a wake-up does not cut this short, only a stop does. */
  private async pause(ms: number): Promise<number> {
    if (!this.isStopping) await this.watch.until(() => this.isStopping, ms);
    return this.isStopping ? 50 : 0;
  }
}
