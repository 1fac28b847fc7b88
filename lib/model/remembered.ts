import { checkFunction, show } from './check.js';
import { InvalidOptionError, InvalidPayloadError } from './errors.js';
import { checkJson } from './payload.js';
import { largestResult } from './result.js';

/**
 * What the steps of a job have returned that run once: text, a line of JSON for each. In ASCII, since it is written over connections of the app's,
 * which may have any character set.
 */

const longestName = 200;

/** @throws InvalidOptionError unless these are a name and a function. */
export function checkOnce(name: unknown, run: unknown): void {
  if (typeof name !== 'string' || name === '' || name.length > longestName) {
    throw new InvalidOptionError(
      `the name of job.once must be a text of 1 to ${longestName} characters, got ${show(name)}`,
    );
  }
  checkFunction(`what job.once('${show(name)}') runs`, run);
}

/** @throws InvalidPayloadError where JSON cannot carry the value, or it is too long. */
export function encodeRemembered(name: string, value: unknown): string {
  if (value !== undefined) checkJson(value, `the result of job.once('${name}')`);
  const line = asciiJson({ name, value });
  if (line.length <= largestResult) return `${line}\n`;
  throw new InvalidPayloadError(
    `the result of job.once('${name}') has ${line.length} characters as JSON and ${largestResult} are allowed; return a key instead`,
  );
}

/** What stands there under a name; `undefined` where nothing does. */
export function decodeRemembered(text: string | null, name: string): { readonly value: unknown } | undefined {
  for (const line of (text ?? '').split('\n')) {
    const found = line === '' ? undefined : decodeLine(line);
    if (found?.['name'] === name) return { value: found['value'] };
  }
  return undefined;
}

function decodeLine(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** JSON in which every character outside of ASCII is escaped. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
