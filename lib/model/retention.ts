import { checkDuration, checkKnownKeys, show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** How long the rows of jobs that are over are kept. */
export interface RetentionOptions {
  /**
   * Milliseconds for which a completed job is kept with what its handler returned, or 'forever'. Default: it is deleted at once. Counts
   * for jobs that complete from now on.
   */
  completed?: number | 'forever';
  /** Milliseconds after which a failed job is deleted, or 'forever'. Default 'forever': nothing is deleted unasked. */
  failed?: number | 'forever';
  /** Milliseconds after which a cancelled job is deleted, or 'forever'. Default 'forever'. */
  cancelled?: number | 'forever';
}

/** Milliseconds, `Infinity` for ever; `undefined` where nothing was said. */
export interface Retention {
  readonly completed?: number | undefined;
  readonly failed?: number | undefined;
  readonly cancelled?: number | undefined;
}

const states = ['completed', 'failed', 'cancelled'] as const;

/** @throws InvalidOptionError */
export function resolveRetention(option: string, value: unknown): Retention {
  const given = checkKnownKeys(option, value, states);
  const read = (state: (typeof states)[number]): number | undefined => checkKeep(`${option}.${state}`, given[state]);
  return Object.freeze({ completed: read('completed'), failed: read('failed'), cancelled: read('cancelled') });
}

function checkKeep(option: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (value === 'forever') return Infinity;
  if (typeof value === 'number' && Number.isFinite(value)) return checkDuration(option, value);
  throw new InvalidOptionError(`${option} must be milliseconds or 'forever', got ${show(value)}`);
}
