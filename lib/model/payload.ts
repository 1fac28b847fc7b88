import { show } from './check.js';
import { InvalidPayloadError, PayloadTooLargeError } from './errors.js';

/** Every value that JSON carries unchanged. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Text of a job without a payload; its handler receives `undefined`. */
const none = '';

/** Deepest nesting that is taken: far beyond real payloads, far within what every JSON reader can follow. */
const deepest = 500;

/**
 * Turns a payload into JSON text, or refuses it.
 *
 * A handler must receive what was enqueued, so whatever JSON would change without a word is refused, with its
 * path: functions, symbols, BigInt, NaN, cycles, holes and `undefined` in arrays, and objects with a form of their own
 * (Date, Map, Buffer, …). Instances of plain classes travel as their fields; fields that are `undefined` are left out.
 *
 * @param maxBytes Limit for the text in UTF-8.
 * @throws InvalidPayloadError | PayloadTooLargeError
 */
export function encodePayload(payload: unknown, maxBytes: number): string {
  if (payload === undefined) return none;
  return encodeJson(payload, {
    name: 'payload',
    maxBytes,
    mend: 'store the data elsewhere and pass its key, or raise maxPayloadSize',
  });
}

/** What is said of a value that is refused. */
export interface EncodeLimits {
  /** What the value is called; its path in messages begins with it. */
  readonly name: string;
  /** Limit for the text in UTF-8. */
  readonly maxBytes: number;
  /** What to do about a value that is too large. */
  readonly mend: string;
}

/**
 * Turns a value into JSON text, or refuses it as `encodePayload` does.
 *
 * @throws InvalidPayloadError | PayloadTooLargeError
 */
export function encodeJson(value: unknown, { name, maxBytes, mend }: EncodeLimits): string {
  checkJson(value, name);
  const text = JSON.stringify(value);
  // A UTF-16 unit takes at most 3 bytes, so most values need no exact count.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    throw new PayloadTooLargeError(
      `the ${name} has ${Buffer.byteLength(text)} bytes as JSON and ${maxBytes} are allowed; ${mend}`,
    );
  }
  return text;
}

/**
 * Reads a payload back.
 *
 * @throws InvalidPayloadError when the text is not JSON. The text itself is not shown: it may be private.
 */
export function decodePayload(text: string): unknown {
  if (text === none) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidPayloadError(
      `the stored payload (${text.length} characters) is not JSON; it was not written by this library`,
    );
  }
}

/**
 * Refuses what JSON would change without a word.
 *
 * @param root How messages call the value itself.
 * @throws InvalidPayloadError
 */
export function checkJson(value: unknown, root: string): void {
  checkValue(value, root, []);
}

function checkValue(value: unknown, path: string, above: readonly object[]): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isFinite(value)) return;
      throw refusal(path, String(value), 'JSON would turn it into null');
    case 'object':
      if (value === null) return;
      checkObject(value, path, above);
      return;
    case 'bigint':
      throw refusal(path, 'a BigInt', 'pass it as a string');
    default:
      throw refusal(path, value === undefined ? 'undefined' : `a ${typeof value}`, 'JSON cannot carry it');
  }
}

function checkObject(value: object, path: string, above: readonly object[]): void {
  if (above.includes(value)) throw refusal(path, 'a reference to an object around it', 'JSON cannot carry cycles');
  if (above.length >= deepest) throw refusal(path.slice(0, 60), `nested deeper than ${deepest} levels`, 'flatten it');
  const inside = [...above, value];
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) checkValue(value[index], `${path}[${index}]`, inside);
    return;
  }
  if ('toJSON' in value || Object.prototype.toString.call(value) !== '[object Object]') {
    const name = nameOf(value);
    throw refusal(
      path,
      `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`,
      `the handler would receive something else; ${remedyFor(value)}`,
    );
  }
  for (const [key, field] of Object.entries(value)) {
    if (field !== undefined) checkValue(field, `${path}${pathStep(key)}`, inside);
  }
}

function remedyFor(value: object): string {
  if (value instanceof Promise) return 'await it first';
  if (value instanceof Date) return 'convert it first, by toISOString() or getTime()';
  return 'convert it first';
}

function nameOf(value: object): string {
  const { constructor } = value;
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'special object';
}

/** One step of a path in a message: `.name`, `[0]`, `['first name']`. */
export function pathStep(key: PropertyKey): string {
  if (typeof key !== 'string') return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${show(key)}]`;
}

function refusal(path: string, found: string, why: string): InvalidPayloadError {
  return new InvalidPayloadError(`${path} is ${found}: ${why}`);
}
