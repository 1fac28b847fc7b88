import { StoreError } from '../model/errors.js';

/** SQLSTATE classes of a server that answers, and says no: to who asks, to a name, to a right that is missing. */
const refusingClasses = ['28', '3D', '3F', '42'];
const refusingCodes = ['SQLITE_ERROR', 'SQLITE_READONLY'];

/** What is wrong with the store, for an operator who is to know whether to look at the server or at what it was asked. */
export function storeTrouble(error: unknown): string {
  return isRefusal(error)
    ? 'the job store refuses what it is asked, trying again until it does not'
    : 'the job store does not answer, trying again until it does';
}

/** PostgreSQL has the state in `code`, MySQL in `sqlState` beside a name. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  const { code, sqlState } = Object(error.cause) as { readonly code?: unknown; readonly sqlState?: unknown };
  const state = String(sqlState ?? code);
  return refusingCodes.includes(state) || (/^[0-9A-Z]{5}$/.test(state) && refusingClasses.includes(state.slice(0, 2)));
}
