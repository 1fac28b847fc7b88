import { checkFunction, checkKnownKeys, show } from './check.js';
import { InvalidOptionError, InvalidPayloadError } from './errors.js';
import { encodeJson } from './payload.js';

/** Carries one thing from where a job is enqueued to where it runs: a tenant, a trace, a store of the request. */
export interface ContextCarrier {
  /** Its key among what is stored with the job. Not to be changed while jobs wait. */
  readonly name: string;
  /**
   * What is true where the job is enqueued: a value that JSON carries, or `undefined` for nothing. Called in `enqueue` and `submit`; what it
   * throws refuses the job.
   */
  extract(): unknown;
  /**
   * Makes that true again around an attempt: calls `next` once, inside. Only called where there was something. What it throws is the
   * attempt's error.
   */
  run(value: unknown, next: () => Promise<unknown>): unknown;
}

/** What all carriers together may store with one job, bytes of JSON. */
export const largestContext = 16_384;

/** Checks carriers. @throws InvalidOptionError */
export function checkCarriers(option: string, value: unknown): readonly ContextCarrier[] {
  if (!Array.isArray(value)) throw new InvalidOptionError(`${option} must be an array, got ${show(value)}`);
  const carriers = value.map((each, index) => checkCarrier(`${option}[${index}]`, each));
  const names = carriers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InvalidOptionError(`${option} has two entries named '${twice}'; rename one of them`);
  return Object.freeze(carriers);
}

/**
 * What there is to carry, as JSON text; `undefined` where there is nothing.
 *
 * @throws InvalidPayloadError | PayloadTooLargeError; whatever a carrier throws.
 */
export function extractContext(carriers: readonly ContextCarrier[]): string | undefined {
  let values: Record<string, unknown> | undefined;
  for (const carrier of carriers) {
    const value = carrier.extract();
    if (value !== undefined) values = { ...values, [carrier.name]: value };
  }
  return values === undefined ? undefined : encodeJson(values, limits);
}

/** Reads back what was carried. @throws InvalidPayloadError */
export function decodeContext(text: string): ReadonlyMap<string, unknown> {
  const values = parse(text);
  if (typeof values === 'object' && values !== null) return new Map(Object.entries(values));
  throw new InvalidPayloadError('the stored context is no object of JSON; it was not written by this library');
}

const limits = { name: 'context', maxBytes: largestContext, mend: 'carry keys instead of data' };

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkCarrier(place: string, value: unknown): ContextCarrier {
  const { name, extract, run } = checkKnownMembers(place, value);
  if (typeof name !== 'string' || !/^[\w.:-]{1,64}$/.test(name) || name === '__proto__') {
    throw new InvalidOptionError(
      `${place}.name must be 1 to 64 letters, digits, dots, colons, dashes and underscores, got ${show(name)}`,
    );
  }
  checkFunction(`${place}.extract`, extract);
  checkFunction(`${place}.run`, run);
  return value as ContextCarrier;
}

/** An instance of a class may have members of its own besides; a plain object with others has a typo. */
function checkKnownMembers(place: string, value: unknown): Record<string, unknown> {
  const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (isPlain || typeof value !== 'object' || value === null) {
    return checkKnownKeys(place, value, ['name', 'extract', 'run']);
  }
  return value as Record<string, unknown>;
}
