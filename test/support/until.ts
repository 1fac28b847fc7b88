/**
 * Waits for a condition, looked at every few milliseconds; fails with `what` when it does not come true in time.
 * MariaDB and MySQL make `information_schema.innodb_trx` anew only when nobody has read it for 100 ms: who looks there
 * passes `every: sinceInnodbTrx`, or sees the same old picture for ever.
 */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  { what = 'the condition', within = 30_000, every = 5 }: UntilOptions = {},
): Promise<void> {
  const deadline = performance.now() + within;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${within} ms`);
    await new Promise((resolve) => setTimeout(resolve, typeof every === 'number' ? every : every()));
  }
}

interface UntilOptions {
  readonly what?: string;
  readonly within?: number;
  readonly every?: number | (() => number);
}

/** Longer than the 100 ms, and not in step with whoever else looks: two of them by turns would leave no such time either. */
export const sinceInnodbTrx = (): number => 120 + Math.random() * 500;
