import type { Attempt } from '../execution/attempt.js';
import type { Execution } from '../execution/execution.js';
import type { ClaimedJob } from '../model/job.js';
import type { Crew } from './crew.js';
import type { LimitedClaimer } from './limited-claimer.js';
import type { Outage } from './outage.js';
import { settlementsOf, type Ended, type Settler } from './settler.js';
import { capTypes } from './type-caps.js';
import type { Watch } from './watch.js';
import type { WorkerParts, WorkerSettings } from './worker-parts.js';

export interface LoneRunnerParts extends WorkerParts {
  readonly settings: WorkerSettings;
  readonly crew: Crew;
  readonly settler: Settler;
  readonly limitedClaimer: LimitedClaimer;
  readonly outage: Outage;
  readonly watch: Watch;
  readonly mostInnocent: number;
  readonly hold: (job: ClaimedJob, sentAt: number) => Attempt;
  readonly answer: <T>(statement: Promise<T>) => Promise<T>;
  /** Waits out a failure. Returns how long to rest after that. */
  readonly pause: (ms: number) => Promise<number>;
  /** Whether the worker claims nothing any more. */
  readonly isStopping: () => boolean;
}

/** A job that has been claimed and begun. */
interface Begun {
  readonly attempt: Attempt;
  readonly running: Promise<Execution>;
}

const mostTries = 3;

/** Claims one job and runs it to its end, beside the loops of its worker or without them. */
export class LoneRunner {
  private isLimitedFirst = false;
  private claims = 0;

  constructor(private readonly parts: LoneRunnerParts) {}

  /** Whether nothing is being claimed: a job that has begun is one of the crew's. */
  get isIdle(): boolean {
    return this.claims === 0;
  }

  /** See `Worker.runOne`. */
  async runOne(): Promise<boolean> {
    const { crew, settler } = this.parts;
    const begun = await this.beginOne();
    if (begun === undefined) return false;
    const { attempt, running } = begun;
    const execution = await running;
    const isGivenUp = (): boolean => !crew.has(attempt);
    if (execution.isSettled === true) settler.add(attempt, execution);
    else if (!attempt.isLost && !isGivenUp()) await this.settle(settler.ended(attempt, execution), isGivenUp);
    crew.leave(attempt);
    return true;
  }

  /** A stop does not wait for a job that it does not know of: what comes in the middle of one goes back. */
  private async beginOne(): Promise<Begun | undefined> {
    const { crew, watch, isStopping } = this.parts;
    if (isStopping()) return undefined;
    this.claims += 1;
    try {
      const attempt = await this.claimInTime();
      if (attempt === undefined) return undefined;
      if (!isStopping()) return { attempt, running: crew.runBeside(attempt) };
      await this.release(attempt);
      return undefined;
    } finally {
      this.claims -= 1;
      watch.notify();
    }
  }

  /** What comes too late for its permit goes back; the next permit is asked for with the time that it took. */
  private async claimInTime(): Promise<Attempt | undefined> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const attempt = await this.claim();
      if (attempt === undefined || this.parts.clock.monotonic() <= attempt.startsBy) return attempt;
      await this.release(attempt);
    }
    return undefined;
  }

  private async release(attempt: Attempt): Promise<void> {
    const { settler, isStopping } = this.parts;
    const released = { outcome: { kind: 'released', delayMs: 0 } } as const;
    await this.settle(settler.ended(attempt, released), isStopping);
  }

  /** By turns, so that neither kind of job is always the second choice. */
  private async claim(): Promise<Attempt | undefined> {
    const { limited, limitedClaimer } = this.parts;
    if (limited().length === 0) return this.claimUnlimited();
    this.isLimitedFirst = !this.isLimitedFirst;
    return this.isLimitedFirst
      ? ((await limitedClaimer.claimOne()) ?? this.claimUnlimited())
      : ((await this.claimUnlimited()) ?? limitedClaimer.claimOne());
  }

  private claimUnlimited(): Promise<Attempt | undefined> {
    const { clock, crew, desk, store, settings, limited, held, mostInnocent, learnKeyed, answer, hold } = this.parts;
    return desk.pass(async () => {
      const sentAt = clock.monotonic();
      const { owner, leaseMs } = settings;
      const { caps } = capTypes(undefined, { limits: new Map(), limited: limited() }, held);
      const mostInterruptions = crew.hasSuspect ? mostInnocent : undefined;
      const claim = { types: undefined, caps, limit: 1, mostInterruptions, owner, leaseMs };
      const { claimed } = await answer(store.exchange({ settle: [], claim }));
      const [attempt] = claimed.map((job) => hold(job, sentAt));
      if (attempt?.job.key === undefined) return attempt;
      // Another job of its key may run: it goes back, and is claimed in the way of jobs with keys.
      learnKeyed(attempt.job.type);
      attempt.startsBy = -Infinity;
      return attempt;
    });
  }

  private async settle(ended: Ended, isGivenUp: () => boolean): Promise<void> {
    const { store, settler, outage, watch, answer, pause } = this.parts;
    for (;;) {
      try {
        const { lost } = await answer(store.exchange({ settle: settlementsOf([ended]), claim: undefined }));
        settler.storedAlone(ended, lost);
        outage.succeeded();
        return;
      } catch (error) {
        ended.isRepeat = true;
        const restMs = await pause(outage.failed(error));
        await watch.until(isGivenUp, restMs);
        if (isGivenUp()) return;
      }
    }
  }
}
