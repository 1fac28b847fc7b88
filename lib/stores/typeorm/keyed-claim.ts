import type { ClaimedJob } from '../../model/job.js';
import type { ClaimRequest } from '../job-store.js';
import { inRound, pickHeads, walkKeys, type DueKeys, type KeyHead, type KeySource, type Picked } from '../key-line.js';
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

interface Found {
  readonly claimed: readonly ClaimedJob[];
  /** The key that was served last; `undefined` where none was looked at. */
  readonly served: string | undefined;
}

/**
 * Claims jobs of a type of which some have keys: of each key the one that stands first, key by key in the round; half of the places are for jobs
 * without a key, where there are both.
 *
 * First it is seen which jobs have been due for the longest time. Where these are few, their keys are all that have to be looked at; where they are
 * many, which may be those of one key, the round steps through the index of keys.
 */
export function* claimKeyed(request: KeyedRequest, steps: KeyedSteps): Steps<Found> {
  const { claim, served } = request;
  const due = yield* answerOf(steps.dueKeys(claim));
  if (due.keys.length === 0 && !due.hasKeyless && due.isComplete) return { claimed: [], served: undefined };
  const share = shareOfKeyless(claim.limit, due);
  const keyless = yield* claimKeyless(request, { most: share, due }, steps);
  const most = claim.limit - keyless.length;
  const picked = most === 0 || due.keys.length === 0 ? undefined : yield* pick(request, { most, due }, steps);
  const ids = picked?.ids ?? [];
  const keyed = ids.length === 0 ? [] : yield* answerOf(steps.claimThese(ids, claim));
  const left = most - keyed.length;
  const isMore = left > 0 && due.hasKeyless && keyless.length === share;
  const more = isMore ? yield* claimKeyless(request, { most: left, due }, steps) : [];
  return { claimed: [...keyless, ...keyed, ...more], served: picked?.served === served ? undefined : picked?.served };
}

function* pick(
  { claim, served }: KeyedRequest,
  { most, due }: { readonly most: number; readonly due: DueKeys },
  steps: KeyedSteps,
): Steps<Picked> {
  if (due.isComplete) {
    const keys = inRound(due.keys, served);
    const found = new Map((yield* answerOf(steps.heads({ keys }, claim))).map((head) => [head.key, head]));
    const heads = keys.map((key) => found.get(key) ?? { key, id: undefined });
    return pickHeads(heads, { most, served });
  }
  const walk = walkKeys(most, served);
  let step = walk.next();
  while (step.done !== true) step = walk.next(yield* answerOf(steps.heads(step.value, claim)));
  const picked = step.value;
  const left = most - picked.ids.length;
  if (left === 0) return picked;
  // The round has not come to all keys. Those that have waited for the longest time are known anyway.
  const known = yield* answerOf(steps.heads({ keys: due.keys }, claim));
  const others = known.filter(({ id }) => id !== undefined && !picked.ids.includes(id));
  return { ids: [...picked.ids, ...pickHeads(others, { most: left, served }).ids], served: picked.served };
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
