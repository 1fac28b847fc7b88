import { errorField } from '../retry.js';

/** Serialization failure and deadlock: the statement was rolled back whole. */
const passing = ['40001', '40P01'];
/** Our own statement did not wait any longer for somebody else's transaction. */
const lockNotAvailable = '55P03';

/** The server, the database or the role has as many connections as it takes. */
const tooManyConnections = '53300';

/** Whether the next try may do what this one could not. */
export function isPassing(error: unknown): boolean {
  return passing.includes(String(errorField(error, 'code')));
}

/** Also that somebody's open transaction holds a key: the next try may find it over. */
export function isPassingWait(error: unknown): boolean {
  return isPassing(error) || isLockNotAvailable(error);
}

/** Those that are open may be busy just now. */
export function isPassingOrFull(error: unknown): boolean {
  return isPassing(error) || errorField(error, 'code') === tooManyConnections;
}

export function isLockNotAvailable(error: unknown): boolean {
  return errorField(error, 'code') === lockNotAvailable;
}
