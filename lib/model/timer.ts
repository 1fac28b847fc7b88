/** Node fires a timer at once when its delay does not fit 31 bits, so longer waits are split. */
const longestTimer = 2_147_483_647;

/**
 * Calls `fire` once after `delayMs`, however long that is; never early. Returns the way to stop it.
 *
 * @param keepAlive `'unref'` lets the process end while the timer waits. Default `'ref'`.
 */
export function startTimer(delayMs: number, fire: () => void, keepAlive: 'ref' | 'unref' = 'ref'): () => void {
  let timer: NodeJS.Timeout;
  const arm = (remaining: number): void => {
    const slice = Math.min(remaining, longestTimer);
    timer = setTimeout(() => (remaining > slice ? arm(remaining - slice) : fire()), slice);
    if (keepAlive === 'unref') timer.unref();
  };
  arm(Math.max(0, Math.ceil(delayMs)));
  return () => clearTimeout(timer);
}
