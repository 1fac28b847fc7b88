/** The job that stands first among those of its key, if one may run. */
export interface KeyHead {
  readonly key: string;
  /** `undefined` where nothing of this key may run now. */
  readonly id: string | undefined;
}

/** Of which keys due jobs wait that this worker could run. */
export interface DueKeys {
  readonly keys: readonly string[];
  /** Whether some due jobs have none. */
  readonly hasKeyless: boolean;
  /** Whether these are all; otherwise they are those of the jobs that have been due for the longest time. */
  readonly isComplete: boolean;
}

/** Where heads are looked for: at these keys, or at so many that come after one, in an order of the store's own. */
export type KeySource = { readonly keys: readonly string[] } | { readonly after: string; readonly count: number };

/** How many due jobs are looked at first. Where there are no more, their keys are all that matter. */
export const mostDueSeen = 256;
/** How many keys one claim looks at; the next one goes on behind them. */
const mostKeys = 1_000;
const firstKeys = 16;

/** What a claim takes, and where the next one goes on. */
export interface Picked {
  readonly ids: readonly string[];
  readonly served: string;
}

/**
 * The keys of a complete list in the order of their turns: round robin behind the one that was served last.
 *
 * @param served The key behind which the round goes on.
 */
export function inRound(keys: readonly string[], served: string): readonly string[] {
  const sorted = [...new Set(keys)].toSorted(compare);
  return [...sorted.filter((key) => compare(key, served) > 0), ...sorted.filter((key) => compare(key, served) <= 0)];
}

/** Takes up to `most` heads from a list that is in the order of its turns. */
export function pickHeads(heads: readonly KeyHead[], { most, served }: { most: number; served: string }): Picked {
  const ids: string[] = [];
  let last = served;
  for (const { key, id } of heads) {
    if (ids.length >= most) break;
    last = key;
    if (id !== undefined) ids.push(id);
  }
  return { ids, served: last };
}

/** One look at a stretch of keys: which one, and what to do with what it found. A generator, so that synchronous stores use it as well. */
export function* walkKeys(most: number, served: string): Generator<KeySource, Picked, readonly KeyHead[]> {
  const ids = new Set<string>();
  let last = served;
  let after = served;
  let hasWrapped = served === '';
  let count = Math.max(firstKeys, most * 2);
  for (let seen = 0; seen < mostKeys && ids.size < most; count = Math.min(count * 4, mostKeys - seen)) {
    const heads: readonly KeyHead[] = yield { after, count };
    const picked = pickHeads(heads, { most: most - ids.size, served: last });
    for (const id of picked.ids) ids.add(id);
    last = picked.served;
    after = heads.at(-1)?.key ?? after;
    seen += Math.max(1, heads.length);
    if (heads.length >= count) continue;
    if (hasWrapped) break;
    hasWrapped = true;
    after = '';
  }
  return { ids: [...ids], served: last };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
