import { InvalidOptionError } from './errors.js';

/** Longest time that the library accepts: 100 years in milliseconds. Sums with an epoch moment stay exact integers. */
export const longestMs = 100 * 365 * 86_400_000;

/** Shows a value in an error message, bounded: `'4'`, `NaN`, `an object`. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 80 ? `${value.slice(0, 77)}...` : value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (value instanceof Promise) return 'a promise';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** @throws InvalidOptionError unless `value` is a whole number between `min` and `max`. */
export function checkInteger(option: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InvalidOptionError(`${option} must be a whole number from ${min} to ${max}, got ${show(value)}`);
  }
  return value;
}

/** @throws InvalidOptionError unless `value` is a finite number between `min` and `max`. */
export function checkNumber(option: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max) {
    throw new InvalidOptionError(`${option} must be a number from ${min} to ${max}, got ${show(value)}`);
  }
  return value;
}

/** A duration in whole milliseconds. @throws InvalidOptionError */
export function checkDuration(option: string, value: unknown, min = 0, max = longestMs): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InvalidOptionError(
      `${option} must be a duration in whole milliseconds from ${min} to ${max}, got ${show(value)}`,
    );
  }
  return value;
}

/** @throws InvalidOptionError unless `value` is a function. What it takes and returns cannot be seen from outside. */
export function checkFunction(option: string, value: unknown): (...args: unknown[]) => unknown {
  if (typeof value !== 'function') throw new InvalidOptionError(`${option} must be a function, got ${show(value)}`);
  return value as (...args: unknown[]) => unknown;
}

/** A wait that code has computed: milliseconds from 0, rounded up to whole ones. @throws InvalidOptionError */
export function checkWait(option: string, value: unknown): number {
  return Math.ceil(checkNumber(option, value, 0, longestMs));
}

/** @throws InvalidOptionError unless `value` is one of `allowed`. */
export function checkOneOf<T extends string | boolean>(option: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) {
    throw new InvalidOptionError(`${option} must be ${allowed.map(show).join(' or ')}, got ${show(value)}`);
  }
  return found;
}

/**
 * Refuses what is no plain object and names that are no options, so that a typo does not do nothing.
 *
 * @throws InvalidOptionError
 */
export function checkKnownKeys(what: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidOptionError(`${what} must be an object, got ${show(value)}`);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      const [have, they] = /\boptions\b/.test(what) ? ['have', 'they'] : ['has', 'it'];
      throw new InvalidOptionError(`${what} ${have} no option '${key}'; ${they} ${have} ${known.join(', ')}`);
    }
  }
  return value as Record<string, unknown>;
}
