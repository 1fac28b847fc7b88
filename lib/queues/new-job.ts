import { v7 as uuidv7 } from 'uuid';
import type { HandlerPolicy } from '../handlers/handler-registry.js';
import { resolveEnqueueOptions } from '../model/enqueue-options.js';
import { checkJobType } from '../model/job-type.js';
import type { NewJob } from '../model/job.js';
import { encodePayload } from '../model/payload.js';

/** What the caller of `enqueue` gives. */
export interface GivenJob {
  readonly type: string;
  readonly payload: unknown;
  readonly options: unknown;
}

/** What decides where the job itself says nothing. */
export interface JobDefaults {
  /** That of the handler of this type, where this process has one. */
  readonly policy: HandlerPolicy | undefined;
  readonly maxRetries: number;
  readonly maxPayloadSize: number;
}

/**
 * A persistent job of what `enqueue` was given: checked, with an id, and with what its handler and its queue say where it says nothing.
 *
 * @throws InvalidJobTypeError | InvalidOptionError | InvalidPayloadError | PayloadTooLargeError
 */
export function makeNewJob(given: GivenJob, { policy, maxRetries, maxPayloadSize }: JobDefaults): NewJob {
  const options = resolveEnqueueOptions(given.options);
  return {
    id: uuidv7(),
    type: checkJobType(given.type),
    payload: encodePayload(given.payload, maxPayloadSize),
    maxRetries: options.maxRetries ?? policy?.maxRetries ?? maxRetries,
    priority: options.priority ?? policy?.priority,
    queue: options.queue ?? policy?.queue,
    delayMs: options.delayMs,
    runAt: options.runAt,
  };
}
