import type { ClaimRequest } from '../stores/job-store.js';
import type { Crew } from './crew.js';
import type { Flow } from './flow.js';
import type { LookAhead } from './look-ahead.js';
import type { Suspicion } from './suspicion.js';
import type { CappedTypes } from './type-caps.js';
import type { WorkerSettings } from './worker-parts.js';

export interface ClaimMakerParts {
  readonly crew: Crew;
  readonly flow: Flow;
  readonly lookAhead: LookAhead;
  /** Absent where a crash leaves nothing behind. */
  readonly suspicion: Suspicion | undefined;
  readonly settings: WorkerSettings;
  /** As in `JobStore`. */
  readonly mostAtOnce: number | undefined;
  /** The types that may be claimed now. */
  readonly capped: () => CappedTypes;
}

/** Decides what the next claim of a worker asks for. */
export class ClaimMaker {
  /** Whether the last one that was asked for was not made, since there is enough at hand. */
  isHeldUp = false;

  constructor(private readonly parts: ClaimMakerParts) {}

  /** A job that was interrupted more often is a suspect: one more time, and it fails. */
  get mostInnocent(): number {
    return Math.max(0, this.parts.settings.maxInterruptions - 2);
  }

  /** @returns undefined when nothing is to be claimed. */
  next(now: number, roundTripMs: number): ClaimRequest | undefined {
    const { crew, flow, lookAhead, suspicion, settings, mostAtOnce = Infinity } = this.parts;
    const { free, waiting, hasSuspect } = crew;
    const ahead = lookAhead.want(now, roundTripMs);
    const wanted = flow.limit({ free, waiting, ahead });
    const room = wanted > 0 ? flow.room(crew.waitingCharacters) : 0;
    const limit = room > 0 ? Math.min(wanted, mostAtOnce) : 0;
    this.isHeldUp = limit <= 0;
    if (crew.isClogged) return undefined;
    const { types, caps } = this.parts.capped();
    if (types?.length === 0) return undefined;
    const { owner, leaseMs, queues } = settings;
    const claim = { types, caps, queues, owner, leaseMs };
    // A stream is not held up for a suspect: that may come when the next jobs are at hand.
    const mayWait = ahead > 0 ? limit <= 0 : free > 0;
    if (mayWait && !hasSuspect && suspicion?.isDue(now) === true) {
      suspicion.asked(now);
      return { ...claim, limit: 1, mostInterruptions: undefined };
    }
    if (limit <= 0) return undefined;
    const isCareful = hasSuspect || suspicion?.isAwake(now) === true;
    return { ...claim, limit, room, mostInterruptions: isCareful ? this.mostInnocent : undefined };
  }

  /** How long to rest after a claim that has left nothing behind, milliseconds. */
  restMs(claim: ClaimRequest | undefined, now: number): number {
    const { crew, suspicion, settings } = this.parts;
    if (crew.free <= 0 && crew.waiting === 0) return Infinity;
    // Processes that started together should not ask together for ever.
    const restMs = settings.pollMs * (1 + Math.random() * 0.2);
    const mayMissSuspect = claim?.mostInterruptions !== undefined && !crew.hasSuspect;
    const untilSuspectMs = suspicion?.untilDueMs(now) ?? 0;
    return mayMissSuspect ? Math.min(restMs, Math.max(1, untilSuspectMs)) : restMs;
  }
}
