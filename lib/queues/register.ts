import { handlerOptionKeys, resolveHandlerOptions } from '../handlers/handler-options.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { checkKnownKeys, show } from '../model/check.js';
import { InvalidHandlerError } from '../model/errors.js';
import type { JobContext } from '../model/job-context.js';
import { checkJobType } from '../model/job-type.js';

/** A plain function that is to handle a job type, not checked yet. */
export interface FunctionHandler {
  readonly type: string;
  readonly handler: unknown;
  readonly options: unknown;
}

/**
 * Registers a plain function as the handler of a job type.
 *
 * @throws InvalidJobTypeError | InvalidHandlerError | InvalidOptionError | DuplicateHandlerError
 */
export function registerFunction(registry: HandlerRegistry, { type, handler, options = {} }: FunctionHandler): void {
  checkJobType(type);
  const source = `register('${type}')`;
  if (typeof handler !== 'function') {
    throw new InvalidHandlerError(`the handler of job type '${type}' must be a function, got ${show(handler)}`);
  }
  const given = checkKnownKeys(`the options of ${source}`, options, handlerOptionKeys);
  const run = handler as (payload: unknown, job: JobContext) => unknown;
  registry.add({ type, source, policy: resolveHandlerOptions(`${source}: `, given), run });
}
