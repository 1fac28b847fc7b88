import type { ClaimedJob } from '../../model/job.js';
import { decodeStarts, encodeStarts } from '../../model/start-times.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../job-store.js';
import { allowanceOf, inTurns, usedLimits, type LimitState } from '../limit-state.js';
import { toText, type Row } from './job-row.js';

/** The way of a claim on a database that many connections share. */
export interface LimitedSteps {
  /** The state of those types that have pending jobs, due or not; without a lock. */
  look(types: readonly AskedType[]): Promise<readonly LimitState[]>;
  /** Runs one transaction; `undefined` where somebody else kept the lock of the type for too long. */
  locked<T>(work: (steps: LockedSteps) => Promise<T>): Promise<T | undefined>;
}

/** The statements of one transaction, each of which sees what others have committed before it. */
export interface LockedSteps {
  /** Keeps everybody else from claiming jobs of this type until the transaction ends; then looks. */
  lock(asked: AskedType): Promise<LimitState>;
  claim(request: ClaimRequest): Promise<readonly ClaimedJob[]>;
  save(type: string, starts: string): Promise<void>;
}

/** What came of one type. */
export interface ClaimedOfType {
  readonly claimed: readonly ClaimedJob[];
  readonly waitMs: number | undefined;
}

/**
 * Claims jobs of types that have limits, type by type. All claims of one type go through a lock, so that whoever counts what runs and
 * what has started lately counts all of it. Where a look without the lock says that nothing can be had, nobody asks for it.
 */
export async function claimLimited(request: LimitedClaimRequest, steps: LimitedSteps): Promise<LimitedClaimResult> {
  const claimed: ClaimedJob[] = [];
  const waits = new Map<string, number>();
  const states = new Map((await steps.look(request.types)).map((state) => [state.type, state]));
  for (const asked of inTurns(request.types)) {
    const state = states.get(asked.type);
    if (state === undefined || claimed.length >= request.limit) continue;
    const allowance = allowanceOf(asked, state);
    if (allowance.waitMs !== undefined) waits.set(asked.type, allowance.waitMs);
    if (allowance.most === 0) continue;
    const rest = { ...request, limit: request.limit - claimed.length };
    const found = await steps.locked((locked) => claimUnderLock(asked, rest, locked));
    if (found?.waitMs !== undefined) waits.set(asked.type, found.waitMs);
    claimed.push(...(found?.claimed ?? []));
  }
  return { claimed, waits };
}

/** A row of the table of limits, or what stands for one that is missing. */
export function toLimitState(row: Row): LimitState {
  const { starts } = row;
  return {
    type: toText(row['job_type']),
    starts: typeof starts === 'string' ? decodeStarts(starts) : [],
    running: Number(row['running'] ?? 0),
    now: Number(row['now_ms']),
  };
}

/** The request for one type. */
export function claimOf(asked: AskedType, request: LimitedClaimRequest, most: number): ClaimRequest {
  const { queues, owner, leaseMs, mostInterruptions, limit } = request;
  return { types: [asked.type], queues, owner, leaseMs, mostInterruptions, limit: Math.min(limit, most) };
}

async function claimUnderLock(
  asked: AskedType,
  request: LimitedClaimRequest,
  steps: LockedSteps,
): Promise<ClaimedOfType> {
  const state = await steps.lock(asked);
  const { most, waitMs } = allowanceOf(asked, state);
  if (most === 0) return { claimed: [], waitMs };
  const claimed = await steps.claim(claimOf(asked, request, most));
  const used = usedLimits(asked, state, { count: claimed.length, graceMs: request.graceMs });
  if (used.starts !== undefined) await steps.save(asked.type, encodeStarts(used.starts));
  return { claimed, waitMs: used.waitMs };
}
