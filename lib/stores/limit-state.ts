import { permitsAt, withStarts, type StartTimes } from '../model/start-times.js';
import type { AskedType } from './job-store.js';

/** What the jobs of one type have used of its limits. */
export interface LimitState {
  readonly type: string;
  readonly starts: StartTimes;
  /** How many run; not counted any further than matters. */
  readonly running: number;
  /** Whole milliseconds of the store's clock. */
  readonly now: number;
}

/** How many jobs may be claimed. */
export interface Allowance {
  readonly most: number;
  /** Milliseconds until a rate limit lets the next one through; `undefined` where none holds it back. */
  readonly waitMs: number | undefined;
}

/** How many running jobs of a type are worth to be counted. */
export function mostCounted({ globalConcurrency }: AskedType): number {
  return globalConcurrency ?? 0;
}

export function allowanceOf(asked: AskedType, { starts, running, now }: LimitState): Allowance {
  const { globalConcurrency = Infinity, rateLimit, most } = asked;
  const rate = rateLimit === undefined ? undefined : permitsAt(starts, rateLimit, now);
  return {
    most: Math.max(0, Math.min(most, globalConcurrency - running, rate?.free ?? Infinity)),
    waitMs: rate?.free === 0 ? rate.waitMs : undefined,
  };
}

/** What claiming has made of it. */
export interface UsedLimits {
  /** The starts now; `undefined` where they are as before. */
  readonly starts: StartTimes | undefined;
  readonly waitMs: number | undefined;
}

/** @param claimed How many, and the latest moment at which they may start. */
export function usedLimits(
  { rateLimit }: AskedType,
  { starts, now }: LimitState,
  claimed: { readonly count: number; readonly latest: number },
): UsedLimits {
  if (rateLimit === undefined || claimed.count === 0) return { starts: undefined, waitMs: undefined };
  const after = withStarts(starts, rateLimit, { now, ...claimed });
  const { free, waitMs } = permitsAt(after, rateLimit, now);
  return { starts: after, waitMs: free === 0 ? waitMs : undefined };
}

/** No type is always asked first. */
export function inTurns<T>(types: readonly T[]): readonly T[] {
  const first = Math.floor(Math.random() * types.length);
  return [...types.slice(first), ...types.slice(0, first)];
}
