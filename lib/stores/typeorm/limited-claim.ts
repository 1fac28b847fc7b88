import type { ClaimedJob } from '../../model/job.js';
import { decodeStarts, encodeStarts } from '../../model/start-times.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../job-store.js';
import { allowanceOf, inTurns, usedLimits, type LimitState } from '../limit-state.js';
import { furtherClaim, isOver } from '../payload-room.js';
import { toText, type Row } from './job-row.js';
import { claimKeyed, type KeyedSteps } from './keyed-claim.js';
import { answerOf, inTime, type Answer, type Steps } from './stepwise.js';

/** The way of a claim on a database that many connections share. */
export interface LimitedSteps {
  /** The state of those types that have pending jobs, due or not; without a lock. */
  look(types: readonly AskedType[]): Promise<readonly LimitState[]>;
  /** Runs one transaction; `undefined` where somebody else kept the lock of the type for too long. */
  locked<T>(work: (steps: LockedSteps) => Promise<T>): Promise<T | undefined>;
}

/** A type whose row is locked. */
export interface LockedState extends LimitState {
  /** The key that was served last. */
  readonly served: string;
}

/** What has changed in the row of a type; what is undefined stays as it is. */
export interface LimitChanges {
  readonly starts: string | undefined;
  readonly served: string | undefined;
}

/** The statements of one transaction, each of which sees what others have committed before it. */
export interface LockedSteps extends KeyedSteps {
  /** Keeps everybody else from claiming jobs of this type until the transaction ends; then looks. */
  lock(asked: AskedType): Answer<LockedState>;
  save(type: string, changes: LimitChanges): Answer<unknown>;
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
    const rest = furtherClaim(request, claimed);
    if (state === undefined || isOver(rest)) continue;
    const allowance = allowanceOf(asked, state);
    if (allowance.waitMs !== undefined) waits.set(asked.type, allowance.waitMs);
    if (allowance.most === 0) continue;
    const found = await steps.locked((locked) => inTime(claimUnderLock(asked, rest, locked)));
    if (found?.waitMs !== undefined) waits.set(asked.type, found.waitMs);
    claimed.push(...(found?.claimed ?? []));
  }
  return { claimed, waits };
}

/** A row of the table of limits, or what stands for one that is missing. */
export function toLockedState(row: Row): LockedState {
  const { starts, served_key: served } = row;
  return {
    type: toText(row['job_type']),
    starts: typeof starts === 'string' ? decodeStarts(starts) : [],
    served: typeof served === 'string' ? served : '',
    running: Number(row['running'] ?? 0),
    now: Number(row['now_ms']),
  };
}

/** Claims what the limits of one type allow, in a transaction that nobody else can have for this type. */
export function* claimUnderLock(
  asked: AskedType,
  request: LimitedClaimRequest,
  steps: LockedSteps,
): Steps<ClaimedOfType> {
  const { type } = asked;
  const state = yield* answerOf(steps.lock(asked));
  const { most, waitMs } = allowanceOf(asked, state);
  if (most === 0) return { claimed: [], waitMs };
  const claim = claimOf(asked, request, most);
  const { claimed, served } =
    asked.isKeyed === true
      ? yield* claimKeyed({ type, claim, served: state.served }, steps)
      : { claimed: yield* answerOf(steps.claim(claim)), served: undefined };
  // The moment of the look was cut to whole milliseconds.
  const used = usedLimits(asked, state, { count: claimed.length, latest: state.now + asked.graceMs + 1 });
  const starts = used.starts === undefined ? undefined : encodeStarts(used.starts);
  if (starts !== undefined || served !== undefined) yield* answerOf(steps.save(type, { starts, served }));
  return { claimed, waitMs: used.waitMs };
}

/** The request for one type. */
function claimOf(asked: AskedType, request: LimitedClaimRequest, most: number): ClaimRequest {
  const { queues, owner, leaseMs, mostInterruptions, limit, room, isFurther } = request;
  const claim = { types: [asked.type], queues, owner, leaseMs, mostInterruptions, room, isFurther };
  return { ...claim, limit: Math.min(limit, most) };
}
