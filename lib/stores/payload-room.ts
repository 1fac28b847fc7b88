import type { ClaimedJob } from '../model/job.js';
import type { ClaimRequest } from './job-store.js';

type Asked = Pick<ClaimRequest, 'room' | 'isFurther'>;

/** Counts what a claim takes, job by job in their order, for stores that have the lengths of payloads at hand. */
export class PayloadRoom {
  private left: number;
  private isFirst: boolean;

  constructor({ room = Infinity, isFurther = false }: Asked) {
    this.left = room;
    this.isFirst = !isFurther;
  }

  /** Takes one more job, if there is room for it; after the first one for which there is not, none is to be asked for. */
  takes(characters: number): boolean {
    const isTaken = this.isFirst || characters <= this.left;
    this.isFirst = false;
    this.left -= characters;
    return isTaken;
  }
}

/** As many of these as there is room for, from the first one on. */
export function fitting<T>(items: readonly T[], claim: Asked, sizeOf: (item: T) => number): readonly T[] {
  const room = new PayloadRoom(claim);
  const end = items.findIndex((item) => !room.takes(sizeOf(item)));
  return end === -1 ? items : items.slice(0, end);
}

export function charactersOf(jobs: Iterable<Pick<ClaimedJob, 'payload'>>): number {
  let sum = 0;
  for (const { payload } of jobs) sum += payload.length;
  return sum;
}

/** What a claim still asks for when a part of it has brought these jobs. */
export function furtherClaim<T extends Asked & Pick<ClaimRequest, 'limit'>>(
  claim: T,
  claimed: readonly ClaimedJob[],
): T {
  const { room, limit } = claim;
  if (claimed.length === 0) return claim;
  const rest = { ...claim, limit: limit - claimed.length };
  return room === undefined ? rest : { ...rest, room: Math.max(0, room - charactersOf(claimed)), isFurther: true };
}

/** Whether a claim asks for nothing any more. */
export function isOver({ limit, room, isFurther }: Asked & Pick<ClaimRequest, 'limit'>): boolean {
  return limit <= 0 || (isFurther === true && room !== undefined && room <= 0);
}
