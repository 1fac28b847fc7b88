import type { Attempt } from '../execution/attempt.js';
import type { ClaimedJob } from '../model/job.js';
import type { Crew } from './crew.js';
import type { Suspicion } from './suspicion.js';
import { takeOne, type CappedTypes } from './type-caps.js';
import type { WorkerParts } from './worker-parts.js';

export interface IntakeParts extends Pick<WorkerParts, 'clock' | 'learnKeyed'> {
  readonly crew: Crew;
  readonly suspicion: Suspicion | undefined;
  /** A job that was interrupted more often is a suspect. */
  readonly mostInnocent: number;
  /** How many more jobs of types with limits may run here. */
  readonly capped: () => CappedTypes;
  readonly hold: (job: ClaimedJob, sentAt: number) => Attempt;
}

/** Hands claimed jobs to the crew, but those that may not run here now: they go back. */
export class Intake {
  constructor(private readonly parts: IntakeParts) {}

  /** @param sentAt Monotonic milliseconds at which the claim was sent: from then on the leases run. */
  admit(claimed: readonly ClaimedJob[], sentAt: number): void {
    const { crew, suspicion, mostInnocent, capped, clock, learnKeyed, hold } = this.parts;
    const { caps } = capped();
    for (const job of claimed) {
      const isSuspect = job.interruptions > mostInnocent;
      if (isSuspect) suspicion?.saw(clock.monotonic());
      const attempt = hold(job, sentAt);
      // A job with a key may have to wait for another one: it goes back, and is claimed in the way of those.
      if (job.key !== undefined) learnKeyed(job.type);
      // A type may lie in several streams, of which a claim takes the most from each.
      if (job.key === undefined && takeOne(caps, job.type)) crew.admit(attempt, isSuspect);
      else crew.giveBack(attempt);
    }
    crew.fill();
  }
}
