import type { ClaimedJob } from '../../model/job.js';
import type { ClaimRequest } from '../job-store.js';
import { inRound, pickHeads, walkKeys, type DueKeys, type KeyHead, type KeySource } from '../key-line.js';
import { furtherClaim, isOver } from '../payload-room.js';
import { isInScope } from './streams.js';
import { toText, type Row } from './job-row.js';
import type { KeylessLooks } from './keyless-looks.js';
import { answerOf, type Answer, type Steps } from './stepwise.js';

/** The statements that a claim of jobs with keys needs. */
export interface KeyedSteps {
  readonly keylessLooks: KeylessLooks;
  /** A claim as any other. */
  claim(claim: ClaimRequest): Answer<readonly ClaimedJob[]>;
  dueKeys(claim: ClaimRequest): Answer<DueKeys>;
  heads(source: KeySource, claim: ClaimRequest): Answer<readonly KeyHead[]>;
  /** Those of these jobs that are pending still. */
  claimThese(ids: readonly string[], claim: ClaimRequest): Answer<readonly ClaimedJob[]>;
}

export interface KeyedRequest {
  readonly type: string;
  readonly claim: ClaimRequest;
  /** The key that was served last. */
  readonly served: string;
}

/** The heads of a round, in the order of their turns. */
interface PickedHeads {
  readonly ids: readonly string[];
  /** The last key that the round has come to; `undefined` where there was none. */
  readonly served: string | undefined;
  /** What has waited for the longest time at keys that the round has not come to. */
  readonly others: readonly string[];
}

const noHeads: PickedHeads = { ids: [], served: undefined, others: [] };

interface Found {
  readonly claimed: readonly ClaimedJob[];
  /** The key that was served last; `undefined` where none was looked at. */
  readonly served: string | undefined;
}

/**
 * Claims jobs of a type of which some have keys: of each key the one that stands first, key by key in the round; half of the places and
 * of the room are for jobs without a key, where there are both.
 *
 * First it is seen which jobs have been due for the longest time. Where these are few, their keys are all that have to be looked at; where they are
 * many, which may be those of one key, the round steps through the index of keys.
 */
export function* claimKeyed(request: KeyedRequest, steps: KeyedSteps): Steps<Found> {
  const { claim, served } = request;
  const due = yield* answerOf(steps.dueKeys(claim));
  if (due.keys.length === 0 && !due.hasKeyless && due.isComplete) return { claimed: [], served: undefined };
  const share = shareOfKeyless(claim.limit, due);
  const room = share < claim.limit && claim.room !== undefined ? claim.room / 2 : claim.room;
  const keyless = yield* claimKeyless({ ...request, claim: { ...claim, room } }, { most: share, due }, steps);
  const rest = furtherClaim(claim, keyless);
  const most = claim.limit - keyless.length;
  const picked = isOver(rest) || due.keys.length === 0 ? noHeads : yield* pick(request, { most, due }, steps);
  const ids = [...picked.ids, ...picked.others];
  const keyed = ids.length === 0 ? [] : yield* answerOf(steps.claimThese(ids, rest));
  const last = furtherClaim(rest, keyed);
  const isMore = !isOver(last) && due.hasKeyless && keyless.length === share;
  const more = isMore
    ? yield* claimKeyless({ ...request, claim: last }, { most: most - keyed.length, due }, steps)
    : [];
  const turn = servedBy(picked, keyed);
  return { claimed: [...keyless, ...keyed, ...more], served: turn === served ? undefined : turn };
}

/** Where there was not room for all of the round, those that were left out have the next turns. */
function servedBy({ ids, served }: PickedHeads, claimed: readonly ClaimedJob[]): string | undefined {
  const keys = new Map(claimed.map(({ id, key }) => [id, key]));
  if (ids.every((id) => keys.has(id))) return served;
  const last = ids.findLast((id) => keys.has(id));
  return last === undefined ? undefined : keys.get(last);
}

function* pick(
  { claim, served }: KeyedRequest,
  { most, due }: { readonly most: number; readonly due: DueKeys },
  steps: KeyedSteps,
): Steps<PickedHeads> {
  if (due.isComplete) {
    const keys = inRound(due.keys, served);
    const found = new Map((yield* answerOf(steps.heads({ keys }, claim))).map((head) => [head.key, head]));
    const heads = keys.map((key) => found.get(key) ?? { key, id: undefined });
    return { ...pickHeads(heads, { most, served }), others: [] };
  }
  const walk = walkKeys(most, served);
  let step = walk.next();
  while (step.done !== true) step = walk.next(yield* answerOf(steps.heads(step.value, claim)));
  const picked = step.value;
  const left = most - picked.ids.length;
  if (left === 0) return { ...picked, others: [] };
  // The round has not come to all keys. Those that have waited for the longest time are known anyway.
  const known = yield* answerOf(steps.heads({ keys: due.keys }, claim));
  const others = known.filter(({ id }) => id !== undefined && !picked.ids.includes(id));
  return { ...picked, others: pickHeads(others, { most: left, served }).ids };
}

function* claimKeyless(
  { type, claim }: KeyedRequest,
  { most, due }: { readonly most: number; readonly due: DueKeys },
  steps: KeyedSteps,
): Steps<readonly ClaimedJob[]> {
  const { keylessLooks } = steps;
  const isWorthIt = due.hasKeyless || (!due.isComplete && keylessLooks.isDue(type));
  if (most === 0 || !isWorthIt) return [];
  const startedAt = performance.now();
  const claimed = yield* answerOf(steps.claim({ ...claim, limit: most, keys: 'none' }));
  keylessLooks.took(type, performance.now() - startedAt, claimed.length);
  return claimed;
}

function shareOfKeyless(limit: number, { keys, hasKeyless }: DueKeys): number {
  if (keys.length === 0 && hasKeyless) return limit;
  return limit === 1 ? Math.round(Math.random()) : Math.ceil(limit / 2);
}

/** A look at the jobs that have been due for the longest time, as it comes from the database. */
export function toDueKeys(rows: readonly Row[], most: number): DueKeys {
  const keys = rows.map((row) => row['job_key']).filter((key) => typeof key === 'string');
  return {
    keys: [...new Set(keys)],
    hasKeyless: keys.length < rows.length,
    isComplete: rows.length < most,
  };
}

/** A row of a look for heads; what this worker may not take is no head for it. */
export function toKeyHead(row: Row, { queues, mostInterruptions = Infinity }: ClaimRequest): KeyHead {
  const { id } = row;
  const isOurs =
    typeof id === 'string' &&
    isInScope(toText(row['queue']), queues) &&
    Number(row['interruptions']) <= mostInterruptions;
  return { key: toText(row['job_key']), id: isOurs ? id : undefined };
}
