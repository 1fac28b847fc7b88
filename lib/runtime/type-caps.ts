import type { LimitedType } from '../model/limited-type.js';

/** What a claim may take: the types, and of some of them at the most so many jobs. */
export interface CappedTypes {
  readonly types: readonly string[] | undefined;
  readonly caps: Record<string, number> | undefined;
}

/** What is said about some types. */
export interface TypeRules {
  /** How many jobs of a type may run at the same time in this process; without an entry as many as there are workers. */
  readonly limits: ReadonlyMap<string, number>;
  /** Those that have a way of their own to be claimed. */
  readonly limited: readonly LimitedType[];
}

/**
 * Leaves out the types with limits of the fleet and those of which this process runs as many jobs as it may, and says how many more it may take
 * of the others that have a limit. Where only types without any limit are left, nothing is said, so that claiming those costs what it always did.
 *
 * @param types `undefined` means any.
 * @param held The types of the jobs that run, or were claimed to be run next.
 */
export function capTypes(
  types: readonly string[] | undefined,
  { limits, limited }: TypeRules,
  held: () => Iterable<string>,
): CappedTypes {
  if (limits.size === 0 && limited.length === 0) return { types, caps: undefined };
  const left = roomLeft(limits, held);
  for (const { type } of limited) left.set(type, 0);
  const claimable = types?.filter((type) => left.get(type) !== 0);
  const named = claimable === undefined ? undefined : new Set(claimable);
  const entries = [...left].filter(([type]) => named?.has(type) ?? true);
  // Without a prototype, so that any text can be a type.
  const caps =
    entries.length === 0
      ? undefined
      : Object.assign(Object.create(null) as Record<string, number>, Object.fromEntries(entries));
  return { types: claimable, caps };
}

/** How many more jobs of each type with a limit may run in this process. */
export function roomLeft(limits: ReadonlyMap<string, number>, held: () => Iterable<string>): Map<string, number> {
  const left = new Map(limits);
  if (limits.size === 0) return left;
  for (const type of held()) {
    const more = left.get(type);
    if (more !== undefined) left.set(type, Math.max(0, more - 1));
  }
  return left;
}

/** Counts down for one more job of a type. Says whether there was room for it. */
export function takeOne(caps: Record<string, number> | undefined, type: string): boolean {
  const left = caps?.[type];
  if (caps === undefined || left === undefined) return true;
  caps[type] = Math.max(0, left - 1);
  return left > 0;
}
