import type { Clock } from '../../model/clock.js';
import type { ClaimedJob, NewJob } from '../../model/job.js';
import type { StartTimes } from '../../model/start-times.js';
import type { AskedType, LimitedClaimRequest, LimitedClaimResult } from '../job-store.js';
import { allowanceOf, inTurns, usedLimits } from '../limit-state.js';
import type { WaitingJob, WaitingLine } from './waiting-line.js';

export interface MemoryLimitsParts {
  readonly clock: Clock;
  readonly line: WaitingLine;
  /** By token, the jobs that run. */
  readonly running: ReadonlyMap<string, ClaimedJob>;
  /** Claims a job that was taken from the line. */
  readonly hand: (next: NewJob | WaitingJob) => ClaimedJob;
}

/** Claims jobs of types with limits and keys from a memory store. */
export class MemoryLimits {
  /** By type, when jobs with a rate limit were started lately, on the monotonic clock. */
  private readonly starts = new Map<string, StartTimes>();
  /** By type, until when a rate limit holds it back, on the same. */
  private readonly heldUntil = new Map<string, number>();

  constructor(private readonly parts: MemoryLimitsParts) {}

  claim({ types, limit }: LimitedClaimRequest): LimitedClaimResult {
    const { line } = this.parts;
    line.promote();
    const claimed: ClaimedJob[] = [];
    const waits = new Map<string, number>();
    for (const asked of inTurns(types)) {
      line.setApart(asked.type);
      const most = Math.min(asked.most, limit - claimed.length);
      const found = this.claimOf({ ...asked, most });
      claimed.push(...found.claimed);
      if (found.waitMs !== undefined) waits.set(asked.type, found.waitMs);
    }
    return { claimed, waits };
  }

  /** Milliseconds until a rate limit lets the next job through, where jobs are due; `undefined` where none will. */
  get untilFreeMs(): number | undefined {
    const now = this.parts.clock.monotonic();
    const waits = [...this.heldUntil.values()].map((until) => until - now).filter((ms) => ms > 0);
    return waits.length > 0 && this.parts.line.isAnyDueUntil(now) ? Math.min(...waits) : undefined;
  }

  private claimOf(asked: AskedType): { claimed: readonly ClaimedJob[]; waitMs: number | undefined } {
    const { clock, hand } = this.parts;
    const { type } = asked;
    const exactNow = clock.monotonic();
    const running = [...this.parts.running.values()].filter((job) => job.type === type).length;
    const state = { type, starts: this.starts.get(type) ?? [], running, now: Math.floor(exactNow) };
    const allowance = allowanceOf(asked, state);
    const claimed: ClaimedJob[] = [];
    while (claimed.length < allowance.most) {
      const next = this.nextOf(type, claimed.length);
      if (next === undefined) break;
      claimed.push(hand(next));
    }
    const used = usedLimits(asked, state, { count: claimed.length, latest: Math.ceil(exactNow + asked.graceMs) });
    if (used.starts !== undefined) this.starts.set(type, used.starts);
    const waitMs = used.waitMs ?? allowance.waitMs;
    if (waitMs !== undefined) this.heldUntil.set(type, state.now + waitMs);
    return { claimed, waitMs };
  }

  /** With a key and without one by turns, where there are both. */
  private nextOf(type: string, turn: number): NewJob | WaitingJob | undefined {
    const { line } = this.parts;
    return turn % 2 === 0
      ? (line.shiftKeyed(type) ?? line.shiftOf(type))
      : (line.shiftOf(type) ?? line.shiftKeyed(type));
  }
}
