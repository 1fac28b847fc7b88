import { JobsError, StoreError } from '../../model/errors.js';
import { errorField } from './retry.js';

/**
 * SQLSTATE classes whose messages speak of connections, rights, names and resources. All others may quote a value, and values
 * may be payloads.
 */
const harmlessClasses = ['08', '28', '3D', '3F', '40', '42', '53', '55', '57', '58'];

/**
 * Runs a verb of the store and dresses what the driver throws.
 *
 * @param what What was to be done, for the message: `claim and settle jobs`.
 * @throws StoreError with the driver's error as its cause; errors of this library pass unchanged.
 */
export async function inStore<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof JobsError
      ? error
      : new StoreError(`could not ${what}: ${describe(error)}`, { cause: error });
  }
}

/** Never a bound value: the code of the error, and its message where that kind of message holds none. */
function describe(error: unknown): string {
  const code = errorField(error, 'code') ?? 'no code';
  const state = errorField(error, 'sqlState') ?? (isSqlState(code) ? code : undefined);
  const message = String(errorField(error, 'message') ?? '');
  const isHarmless = state === undefined || harmlessClasses.includes(String(state).slice(0, 2));
  return message === '' || !isHarmless ? String(code) : `${message.slice(0, 300)} (${code})`;
}

function isSqlState(code: string | number): boolean {
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}
