import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** Characters of the longest key; what every database can index whole, behind the job type. */
const longestKey = 255;

// oxlint-disable-next-line no-control-regex -- control characters are just what is looked for
const forbidden = /[\u0000-\u001f\u007f]|^\s|\s$/u;

/**
 * Refuses a key that some database would refuse, cut or merge with another one.
 *
 * @param option Names the key in the message.
 * @throws InvalidOptionError
 */
export function checkKey(option: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > longestKey) {
    const got = typeof value === 'string' ? `${value.length} characters` : show(value);
    throw new InvalidOptionError(
      `${option} must be a string of 1 to ${longestKey} characters, got ${got}; hash what is longer`,
    );
  }
  if (forbidden.test(value) || !value.isWellFormed()) {
    throw new InvalidOptionError(
      `${option} must have no control characters, no lone surrogates and no white space at its ends, got ${show(JSON.stringify(value))}`,
    );
  }
  return value;
}

/** What is unique about a key: it counts within its job type. Neither of the two has a line break in it. */
export function scopedKey(type: string, key: string): string {
  return `${type}\n${key}`;
}
