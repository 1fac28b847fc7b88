import { show } from './check.js';
import { InvalidJobTypeError } from './errors.js';

/** Characters of the longest job type; what every database can index whole. */
export const longestJobType = 255;

// oxlint-disable-next-line no-control-regex -- control characters are just what is looked for
const forbidden = /[\u0000-\u001f\u007f]|^\s|\s$/u;

/**
 * Refuses a job type that some database would refuse, cut or merge with another one.
 *
 * @throws InvalidJobTypeError
 */
export function checkJobType(type: unknown): string {
  if (typeof type !== 'string') {
    throw new InvalidJobTypeError(`a job type must be a string, like 'send_welcome_email', got ${show(type)}`);
  }
  if (type === '')
    throw new InvalidJobTypeError("a job type must not be empty; name the work, like 'send_welcome_email'");
  if (type.length > longestJobType) {
    throw new InvalidJobTypeError(
      `a job type has at most ${longestJobType} characters, got ${type.length} in ${show(type)}`,
    );
  }
  if (forbidden.test(type) || !type.isWellFormed()) {
    throw new InvalidJobTypeError(
      `a job type has no control characters, no lone surrogates and no white space at its ends, got ${show(JSON.stringify(type))}`,
    );
  }
  return type;
}
