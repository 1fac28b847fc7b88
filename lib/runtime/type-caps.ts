/** What a claim may take: the types, and of some of them at the most so many jobs. */
export interface CappedTypes {
  readonly types: readonly string[] | undefined;
  readonly caps: Record<string, number> | undefined;
}

/**
 * Leaves out the types of which this process runs as many jobs as it may, and says how many more it may take of the others that have a limit.
 *
 * @param types `undefined` means any.
 * @param limits How many jobs of a type may run at the same time; without an entry as many as there are workers.
 * @param held The types of the jobs that run, or were claimed to be run next.
 */
export function capTypes(
  types: readonly string[] | undefined,
  limits: ReadonlyMap<string, number>,
  held: () => Iterable<string>,
): CappedTypes {
  if (limits.size === 0) return { types, caps: undefined };
  const left = new Map(limits);
  for (const type of held()) {
    const more = left.get(type);
    if (more !== undefined) left.set(type, Math.max(0, more - 1));
  }
  // Without a prototype, so that any text can be a type.
  const caps = Object.assign(Object.create(null) as Record<string, number>, Object.fromEntries(left));
  return { types: types?.filter((type) => left.get(type) !== 0), caps };
}

/** Counts down for one more job of a type. Says whether there was room for it. */
export function takeOne(caps: Record<string, number> | undefined, type: string): boolean {
  const left = caps?.[type];
  if (caps === undefined || left === undefined) return true;
  caps[type] = Math.max(0, left - 1);
  return left > 0;
}
