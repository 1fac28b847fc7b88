import { InvalidPayloadError } from './errors.js';
import { describeError } from './failure.js';
import { checkJson } from './payload.js';

/** Longest result that is stored, bytes of JSON. */
export const largestResult = 65_536;

/** What a handler returned, as JSON text, or why it cannot be stored. */
export interface EncodedResult {
  /** `undefined` for nothing. */
  readonly text?: string | undefined;
  readonly refusal?: string;
}

/** Turns what a handler returned into JSON text, by the rules for payloads. The work is done, so nothing is thrown. */
export function encodeResult(value: unknown): EncodedResult {
  if (value === undefined) return {};
  try {
    checkJson(value, 'result');
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= largestResult) return { text };
    return { refusal: `the result has ${bytes} bytes as JSON and ${largestResult} are allowed; return a key instead` };
  } catch (error) {
    return { refusal: `${error instanceof InvalidPayloadError ? '' : 'result: '}${describeError(error)}` };
  }
}
