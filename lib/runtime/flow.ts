import type { ClaimRequest } from '../stores/job-store.js';

/** Fewer jobs are not worth an exchange beside the one under way. */
const leastShare = 100;

/** How a worker stands when it is about to claim. */
export interface Stock {
  /** Workers without a job, less the jobs that wait here. */
  readonly free: number;
  /** Jobs that wait here. */
  readonly waiting: number;
  /** How many of them there should be. */
  readonly ahead: number;
}

/**
 * Decides how many jobs the next claim asks for, and whether a second exchange is worth it while the first is under way.
 *
 * It is where so many short jobs wait in the store that a claim comes back full: with one exchange at a time the database would be idle while
 * jobs run here, and the workers while it works. Each of the two then asks for half of what should be at hand, so that a crash
 * interrupts no more jobs than it would with one.
 */
export class Flow {
  private isFull = false;
  private coming = 0;

  /** @param lanes How many exchanges the store does at the same time. */
  constructor(private readonly lanes: () => number) {}

  /** Whether the last claim left so much behind that a second exchange is worth it. */
  get isOn(): boolean {
    return this.isFull && this.lanes() > 1;
  }

  /** Zero or less when there is enough here, or on its way. */
  limit({ free, waiting, ahead }: Stock): number {
    const room = free + ahead - this.coming;
    if (this.isOn && ahead >= 2 * leastShare) return room < ahead / 4 ? 0 : Math.min(room, Math.ceil(ahead / 2));
    const isStocked = free <= 0 && (waiting + this.coming) * 2 > ahead;
    return isStocked ? 0 : room;
  }

  sent({ limit }: ClaimRequest): void {
    this.coming += limit;
  }

  /** @param claimed How many jobs it brought; undefined when it failed. */
  answered({ limit, caps }: ClaimRequest, claimed: number | undefined): void {
    this.coming -= limit;
    // What is on its way does not count for the limits of types yet, so claims with such limits go one by one.
    this.isFull = claimed === limit && limit >= leastShare && caps === undefined;
  }
}
