import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { show } from '../model/check.js';
import { InvalidHandlerError } from '../model/errors.js';
import type { JobContext } from '../model/job-context.js';
import { checkJobType } from '../model/job-type.js';

/**
 * Registers a plain function as the handler of a job type.
 *
 * @throws InvalidJobTypeError | InvalidHandlerError | DuplicateHandlerError
 */
export function registerFunction(registry: HandlerRegistry, type: string, handler: unknown): void {
  checkJobType(type);
  if (typeof handler !== 'function') {
    throw new InvalidHandlerError(`the handler of job type '${type}' must be a function, got ${show(handler)}`);
  }
  const run = handler as (payload: unknown, job: JobContext) => unknown;
  registry.add({ type, source: `register('${type}')`, policy: {}, run });
}
