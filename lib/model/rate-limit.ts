import { checkDuration, checkInteger, checkKnownKeys } from './check.js';

/** Most starts in a window: the moments of all of them are kept, so that no window ever has one too many. */
export const mostStarts = 10_000;

/** How often jobs of a type may start. */
export interface RateLimitOptions {
  /** At the most so many starts in any window, wherever it begins; a retry is a start like any other. From 1 to 10 000. */
  limit: number;
  /** Length of the window, milliseconds. */
  window: number;
}

/** The same, checked. */
export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** @throws InvalidOptionError */
export function resolveRateLimit(name: string, value: unknown): RateLimit {
  const { limit, window } = checkKnownKeys(name, value, ['limit', 'window']);
  return {
    limit: checkInteger(`${name}.limit`, limit, 1, mostStarts),
    windowMs: checkDuration(`${name}.window`, window, 1),
  };
}
