import { checkDuration, checkKnownKeys, checkNumber, checkOneOf, longestMs, show } from './check.js';
import { InvalidOptionError } from './errors.js';
import { describeError } from './failure.js';

/**
 * Says how long to wait after a failed attempt, in milliseconds.
 *
 * @param attempt The attempt that failed: 1 for the first.
 * @param error What the handler threw; after a timeout a `JobAbortedError`.
 */
export type BackoffFunction = (attempt: number, error: unknown) => number;

/** How waits grow. */
export type BackoffKind = 'exponential' | 'linear' | 'fixed';

/** How long to wait between attempts. */
export interface BackoffOptions {
  /** `exponential`: each wait is `multiplier` times the one before; `linear`: the n-th is n times the first; `fixed`: all are the same. Default 'exponential'. */
  kind?: BackoffKind;
  /** Wait before the first retry, milliseconds. Default 500. */
  initial?: number;
  /** With kind 'exponential' each further wait is this many times the one before; at least 1. Default 2. */
  multiplier?: number;
  /** No wait is longer than this, milliseconds. Default 3 600 000 (an hour); with `delay` whatever that says. */
  max?: number;
  /** Lengthens each wait by a random share of up to this much: 0.2 means by up to 20 %. From 0 to 1. Default 0. */
  jitter?: number;
  /** Computes the wait instead. When it gives none (it throws, or its value is no number from 0), the other options count. */
  delay?: BackoffFunction;
}

export interface Backoff extends Readonly<Required<Omit<BackoffOptions, 'delay'>>> {
  readonly delay?: BackoffFunction | undefined;
}

export const defaultBackoff: Backoff = Object.freeze({
  kind: 'exponential',
  initial: 500,
  multiplier: 2,
  max: 3_600_000,
  jitter: 0,
});

const kinds = ['exponential', 'linear', 'fixed'] as const;

/**
 * Completes and checks backoff options. A function stands for `{ delay: function }`.
 *
 * @throws InvalidOptionError
 */
export function resolveBackoff(options: unknown, name = 'backoff'): Backoff {
  if (typeof options === 'function') return resolveBackoff({ delay: options }, name);
  if (typeof options === 'number') {
    throw new InvalidOptionError(
      `${name} must be an object or a function, got ${show(options)}; the same wait each time is { kind: 'fixed', initial: ${show(options)} }`,
    );
  }
  const given = options === undefined ? {} : checkKnownKeys(name, options, [...Object.keys(defaultBackoff), 'delay']);
  const { kind, initial, multiplier, max, jitter, delay } = { delay: undefined, ...defaultBackoff, ...present(given) };
  const checkedKind = checkOneOf(`${name}.kind`, kind, kinds);
  if (checkedKind !== 'exponential' && given['multiplier'] !== undefined) {
    throw new InvalidOptionError(
      `${name}.multiplier belongs to kind 'exponential', got ${show(given['multiplier'])} beside kind '${checkedKind}'; leave one of them out`,
    );
  }
  const checkedInitial = checkDuration(`${name}.initial`, initial);
  const checkedDelay = delay === undefined ? undefined : checkFunction(`${name}.delay`, delay);
  const defaultMax = checkedDelay === undefined ? Math.max(defaultBackoff.max, checkedInitial) : longestMs;
  return Object.freeze({
    kind: checkedKind,
    initial: checkedInitial,
    multiplier: checkNumber(`${name}.multiplier`, multiplier, 1, 1_000),
    max: checkDuration(`${name}.max`, given['max'] === undefined ? defaultMax : max, checkedInitial),
    jitter: checkNumber(`${name}.jitter`, jitter, 0, 1),
    ...(checkedDelay === undefined ? {} : { delay: checkedDelay }),
  });
}

/** A wait, and what was wrong with the function that should have computed it. */
export interface Wait {
  /** Whole milliseconds. */
  readonly ms: number;
  readonly complaint?: string;
}

/** What the wait depends on. */
export interface FailedAttempt {
  /** Attempts that had failed before the one that just did: 0 before the first retry. */
  readonly attempts: number;
  readonly error: unknown;
}

/**
 * The wait before the next attempt: that of the kind, or of the app's own function, capped, then lengthened by jitter, in whole
 * milliseconds. Never throws.
 *
 * @param random A number from 0 up to, not including, 1.
 */
export function nextWait(backoff: Backoff, failed: FailedAttempt, random: () => number = Math.random): Wait {
  if (backoff.delay === undefined) return { ms: backoffDelay(backoff, failed.attempts, random) };
  const computed = compute(backoff.delay, failed);
  if (typeof computed === 'number') return { ms: limit(backoff, computed, random) };
  // Its cap may be a hundred years, which is for what the function says and not for what grows by itself.
  const max = Math.min(backoff.max, Math.max(defaultBackoff.max, backoff.initial));
  return { ms: backoffDelay({ ...backoff, max }, failed.attempts, random), complaint: computed.complaint };
}

/** The wait that grows by its kind: `initial * multiplier ^ attempts`, or `initial * (attempts + 1)`, or `initial`. */
export function backoffDelay(backoff: Backoff, attempts: number, random: () => number = Math.random): number {
  const { kind, initial, multiplier } = backoff;
  switch (kind) {
    case 'exponential':
      return limit(backoff, initial * multiplier ** attempts, random);
    case 'linear':
      return limit(backoff, initial * (attempts + 1), random);
    case 'fixed':
      return limit(backoff, initial, random);
  }
}

/** 0 * Infinity is no number, and Infinity no wait. */
function limit({ initial, max, jitter }: Backoff, raw: number, random: () => number): number {
  const finite = Number.isFinite(raw) ? Math.min(raw, max) : initial === 0 ? 0 : max;
  return Math.ceil(jitter === 0 ? finite : finite * (1 + jitter * random()));
}

function compute(delay: BackoffFunction, { attempts, error }: FailedAttempt): number | { readonly complaint: string } {
  try {
    const value: unknown = delay(attempts + 1, error);
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
    if (isThenable(value)) {
      // Nobody waits for it, but its failure must not end the process.
      Promise.resolve(value).catch(() => undefined);
      return { complaint: 'the backoff function returned a promise; it must return a number at once' };
    }
    return { complaint: `the backoff function returned ${show(value)}, which is no number of milliseconds` };
  } catch (thrown) {
    return { complaint: `the backoff function threw: ${describeError(thrown)}` };
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function checkFunction(name: string, value: unknown): BackoffFunction {
  if (typeof value === 'function') return value as BackoffFunction;
  throw new InvalidOptionError(`${name} must be a function (attempt, error) => milliseconds, got ${show(value)}`);
}

function present(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
