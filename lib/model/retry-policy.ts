import { checkDuration, checkKnownKeys, checkNumber } from './check.js';

/** How long to wait between attempts. */
export interface BackoffOptions {
  /** Wait before the first retry, milliseconds. Default 500. */
  initial?: number;
  /** Each further wait is this many times the one before; at least 1. Default 2. */
  multiplier?: number;
  /** No wait is longer than this, milliseconds. Default 3 600 000 (an hour). */
  max?: number;
  /** Lengthens each wait by a random share of up to this much: 0.2 means by up to 20 %. From 0 to 1. Default 0. */
  jitter?: number;
}

export type Backoff = Readonly<Required<BackoffOptions>>;

export const defaultBackoff: Backoff = Object.freeze({ initial: 500, multiplier: 2, max: 3_600_000, jitter: 0 });

/** Completes and checks backoff options. @throws InvalidOptionError */
export function resolveBackoff(options: unknown, name = 'backoff'): Backoff {
  const given = options === undefined ? {} : checkKnownKeys(name, options, Object.keys(defaultBackoff));
  const { initial, multiplier, max, jitter } = { ...defaultBackoff, ...withoutUndefined(given) };
  const checkedInitial = checkDuration(`${name}.initial`, initial);
  return Object.freeze({
    initial: checkedInitial,
    multiplier: checkNumber(`${name}.multiplier`, multiplier, 1, 1_000),
    max: checkDuration(
      `${name}.max`,
      given['max'] === undefined ? Math.max(defaultBackoff.max, checkedInitial) : max,
      checkedInitial,
    ),
    jitter: checkNumber(`${name}.jitter`, jitter, 0, 1),
  });
}

/**
 * The wait before the next attempt: `initial * multiplier ^ attempts`, capped, then lengthened by jitter, in whole milliseconds.
 *
 * @param attempts Attempts that had failed before the one that just did: 0 before the first retry.
 * @param random A number from 0 up to, not including, 1.
 */
export function backoffDelay(backoff: Backoff, attempts: number, random: () => number = Math.random): number {
  const raw = backoff.initial * backoff.multiplier ** attempts;
  const capped = Number.isFinite(raw) ? Math.min(raw, backoff.max) : backoff.max;
  return Math.ceil(backoff.jitter === 0 ? capped : capped * (1 + backoff.jitter * random()));
}

function withoutUndefined(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
