/** Waits for a condition, looked at every few milliseconds; fails with `what` when it does not come true in time. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  { what = 'the condition', within = 15_000 }: { readonly what?: string; readonly within?: number } = {},
): Promise<void> {
  const deadline = performance.now() + within;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${within} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
