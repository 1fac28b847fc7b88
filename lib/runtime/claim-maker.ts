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
    const { crew, flow, lookAhead, suspicion, settings } = this.parts;
    const { free, waiting, hasSuspect } = crew;
    const ahead = lookAhead.want(now, roundTripMs);
    const wanted = flow.limit({ free, waiting, ahead });
    const room = wanted > 0 ? flow.room(crew.waitingCharacters) : 0;
    const limit = room > 0 ? wanted : 0;
    this.isHeldUp = limit <= 0;
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
}
