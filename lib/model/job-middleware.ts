import { show } from './check.js';
import { InvalidOptionError } from './errors.js';
import type { JobContext } from './job-context.js';
import type { QueueKind } from './job-event.js';

/** A job that is about to be enqueued, as its caller gave it. */
export interface EnqueuedJob {
  readonly queue: QueueKind;
  /** Of functions given to `submit`, the name in the log. */
  readonly type: string;
  readonly payload: unknown;
  /** `delay`, `maxRetries` and so on, not checked yet. */
  readonly options: object;
}

/** Code around the enqueueing of jobs, around their attempts, or both. */
export interface JobMiddleware {
  /**
   * Around one call of `enqueue`, `enqueueMany` or `submit`, with all its jobs. `next()` resolves once they are stored; to refuse
   * them, throw instead of calling it. On the memory queue `next` must be called before this returns or awaits anything.
   */
  enqueue?(jobs: readonly EnqueuedJob[], next: () => Promise<void>): unknown;
  /**
   * Around one attempt. `next()` resolves to what the handler returned, or rejects with what it threw. What this throws is the attempt's
   * error; where it does not, the attempt has ended as the handler has, or well if an error of `next()` was caught.
   */
  run?(job: JobContext, next: () => Promise<unknown>): unknown;
}

/** A class whose one instance is the middleware; a provider of the app. */
export type JobMiddlewareClass = abstract new (...args: never[]) => JobMiddleware;

/** Checks middleware without an app that could make it. @throws InvalidOptionError */
export function checkMiddleware(option: string, value: unknown): readonly JobMiddleware[] {
  return checkEach(option, value, (place, each) => {
    if (isMiddleware(each)) return each;
    const mend =
      typeof each === 'function' ? '; classes can be given to JobsModule, which has an app to make them' : '';
    throw new InvalidOptionError(
      `${place} must be an object with a method enqueue, or run, or both, got ${show(each)}${mend}`,
    );
  });
}

/** Checks middleware of which some may be classes. @throws InvalidOptionError */
export function checkMiddlewareOrClasses(
  option: string,
  value: unknown,
): readonly (JobMiddleware | JobMiddlewareClass)[] {
  return checkEach(option, value, (place, each) => {
    if (isMiddleware(each) || isMiddlewareClass(each)) return each;
    throw new InvalidOptionError(
      `${place} must be an object, or a class of ones, with a method enqueue, or run, or both, got ${show(each)}`,
    );
  });
}

export function isMiddlewareClass(value: unknown): value is JobMiddlewareClass {
  return typeof value === 'function' && isMiddleware(value.prototype);
}

function isMiddleware(value: unknown): value is JobMiddleware {
  if (typeof value !== 'object' || value === null) return false;
  return ['enqueue', 'run'].some((method) => typeof Reflect.get(value, method) === 'function');
}

function checkEach<T>(option: string, value: unknown, check: (place: string, each: unknown) => T): readonly T[] {
  if (!Array.isArray(value)) throw new InvalidOptionError(`${option} must be an array, got ${show(value)}`);
  return Object.freeze(value.map((each, index) => check(`${option}[${index}]`, each)));
}
