import { StoreError } from '../model/errors.js';
import { startTimer } from '../model/timer.js';

/**
 * Waits for a statement no longer than `ms`: a connection that went silent must not stop the engine.
 *
 * @throws StoreError when the time is over; the statement itself may still take effect.
 */
export async function withDeadline<T>(statement: Promise<T>, ms: number): Promise<T> {
  let stopTimer: (() => void) | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    const message = `the database did not answer within ${Math.ceil(ms)} ms`;
    stopTimer = startTimer(ms, () => reject(new StoreError(message)), 'unref');
  });
  try {
    return await Promise.race([statement, overdue]);
  } finally {
    stopTimer?.();
  }
}
