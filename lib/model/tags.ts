import { show } from './check.js';
import { InvalidOptionError } from './errors.js';
import { checkKey } from './unique-key.js';

const mostTags = 16;
const longestTag = 64;

/** @throws InvalidOptionError unless `value` is a list of a few short strings. */
export function checkTags(option: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > mostTags) {
    const got = Array.isArray(value) ? `${value.length} of them` : show(value);
    throw new InvalidOptionError(`${option} must be an array of at most ${mostTags} strings, got ${got}`);
  }
  const tags = value.map((tag: unknown, index) => checkTag(`${option}[${index}]`, tag));
  return Object.freeze([...new Set(tags)]);
}

/**
 * A tag that jobs are looked for by. Tags are found in the text that they are stored as; one that begins and ends with a comma would be found
 * between two others.
 *
 * @throws InvalidOptionError
 */
export function checkWantedTag(option: string, value: unknown): string {
  const tag = checkTag(option, value);
  if (!tag.startsWith(',') || !tag.endsWith(',')) return tag;
  throw new InvalidOptionError(
    `${option} may not begin and end with a comma, got ${show(tag)}; filter by something else`,
  );
}

function checkTag(option: string, value: unknown): string {
  const tag = checkKey(option, value);
  if (tag.length <= longestTag) return tag;
  throw new InvalidOptionError(`${option} must have at most ${longestTag} characters, got ${tag.length}`);
}
