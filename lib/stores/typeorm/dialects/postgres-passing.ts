import { errorField } from '../retry.js';

/** Serialization failure and deadlock: the statement was rolled back whole. */
const passing = ['40001', '40P01'];
/** Our own statement did not wait any longer for somebody else's transaction. */
const lockNotAvailable = '55P03';

/** Whether the next try may do what this one could not. */
export function isPassing(error: unknown): boolean {
  return passing.includes(String(errorField(error, 'code')));
}

/** Also that somebody's open transaction holds a key: the next try may find it over. */
export function isPassingWait(error: unknown): boolean {
  return isPassing(error) || isLockNotAvailable(error);
}

export function isLockNotAvailable(error: unknown): boolean {
  return errorField(error, 'code') === lockNotAvailable;
}
