import { checkDuration, checkKnownKeys, checkOneOf } from './check.js';
import { InvalidOptionError } from './errors.js';
import { checkKey } from './unique-key.js';

/** At most one job per window. */
export interface ThrottleOptions {
  /** Milliseconds after a stored job in which no further one is stored. */
  window: number;
  /** Jobs of one type with the same key share the window. Default: all jobs of the type do. */
  key?: string | undefined;
}

/** What becomes of a job that is not the only one of its kind. */
export interface UniqueOptions {
  /**
   * Of the jobs of one type with this key one is stored at a time. It holds the key while it is pending, running or waiting for a retry. `null`: none,
   * whatever the handler says. Default: what the handler says.
   */
  uniqueKey?: string | null | undefined;
  /**
   * What happens when a job holds the key: 'keep' stores nothing; 'replace' gives a waiting job this payload, due time, retries, tags and expiry,
   * and stores nothing when it is running. Default 'keep'.
   */
  onDuplicate?: 'keep' | 'replace' | undefined;
}

/** A throttle, checked. */
export interface Throttle {
  readonly windowMs: number;
  /** Empty where all jobs of the type share the window. */
  readonly key: string;
}

export interface ResolvedUniqueOptions {
  /** `null`: none, whatever the handler says. */
  readonly uniqueKey: string | null | undefined;
  readonly onDuplicate: 'keep' | 'replace' | undefined;
  readonly throttle: Throttle | undefined;
}

/** @throws InvalidOptionError */
export function resolveUniqueOptions(given: Readonly<Record<string, unknown>>): ResolvedUniqueOptions {
  const { uniqueKey, onDuplicate, throttle } = given;
  if (throttle !== undefined && typeof uniqueKey === 'string') throw bothError();
  return {
    uniqueKey: uniqueKey === undefined || uniqueKey === null ? uniqueKey : checkKey('uniqueKey', uniqueKey),
    onDuplicate:
      onDuplicate === undefined ? undefined : checkOneOf('onDuplicate', onDuplicate, ['keep', 'replace'] as const),
    throttle: throttle === undefined ? undefined : resolveThrottle(throttle),
  };
}

/** How the job types' own keys and those of single jobs come together. */
export interface Uniqueness {
  readonly uniqueKey?: string | undefined;
  readonly onDuplicate?: 'keep' | 'replace' | undefined;
  readonly throttle?: Throttle | undefined;
}

/**
 * What holds for one job. Its own key wins over that of its handler.
 *
 * @param handlersKey What the handler makes of the payload, if it has a say; asked only where the job has no key of its own.
 * @throws InvalidOptionError
 */
export function decideUniqueness(
  { uniqueKey, onDuplicate, throttle }: ResolvedUniqueOptions,
  handlersKey: (() => string | undefined) | undefined,
): Uniqueness {
  const key = uniqueKey === undefined ? handlersKey?.() : (uniqueKey ?? undefined);
  if (key !== undefined && throttle !== undefined) throw bothError();
  const hasKey = typeof uniqueKey === 'string' || (uniqueKey === undefined && handlersKey !== undefined);
  if (!hasKey && onDuplicate !== undefined) {
    throw new InvalidOptionError(`onDuplicate '${onDuplicate}' needs a uniqueKey, of the job or of its handler`);
  }
  if (throttle !== undefined) return { throttle };
  return key === undefined ? {} : { uniqueKey: key, onDuplicate: onDuplicate ?? 'keep' };
}

function resolveThrottle(value: unknown): Throttle {
  const { window, key } = checkKnownKeys('throttle', value, ['window', 'key']);
  return {
    windowMs: checkDuration('throttle.window', window, 1),
    key: key === undefined ? '' : checkKey('throttle.key', key),
  };
}

function bothError(): InvalidOptionError {
  return new InvalidOptionError(
    'uniqueKey and throttle exclude each other; give the one that you mean (uniqueKey: null switches off that of the handler)',
  );
}
