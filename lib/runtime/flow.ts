import type { ClaimedJob } from '../model/job.js';
import type { ClaimRequest } from '../stores/job-store.js';
import { charactersOf } from '../stores/payload-room.js';

/** Fewer jobs are not worth an exchange beside the one under way. */
const leastShare = 100;

/** Characters of payloads that may wait in a worker or be on their way to it. More of them, claimed at once, could end the process. */
export const mostCharacters = 16_777_216;
/** What the largest payload comes to by default: a claim with less room might bring more than that. */
const leastRoom = 4_194_304;

/** Whether a claim may have left jobs behind, since it was for no more. */
export function isFull(claimed: readonly ClaimedJob[], asked: Pick<ClaimRequest, 'limit' | 'room'>): boolean {
  const { limit, room = Infinity } = asked;
  return claimed.length >= limit || (claimed.length > 0 && charactersOf(claimed) > room - leastRoom);
}

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
  private comingCharacters = 0;

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

  /**
   * For how many characters of payloads the next claim may ask; zero when it is to wait until there is more room. Jobs that run do not
   * count: theirs are needed in any case, and there are no more of them than workers.
   *
   * @param waiting Characters of the payloads that wait here.
   */
  room(waiting: number): number {
    const left = mostCharacters - waiting - this.comingCharacters;
    if (left < leastRoom) return 0;
    return this.isOn ? Math.min(left, mostCharacters / 2) : left;
  }

  sent({ limit, room = 0 }: ClaimRequest): void {
    this.coming += limit;
    this.comingCharacters += room;
  }

  /** @param claimed How many jobs it brought; undefined when it failed. */
  answered({ limit, caps, room = 0 }: ClaimRequest, claimed: number | undefined): void {
    this.coming -= limit;
    this.comingCharacters -= room;
    // What is on its way does not count for the limits of types yet, so claims with such limits go one by one.
    this.isFull = claimed === limit && limit >= leastShare && caps === undefined;
  }
}
