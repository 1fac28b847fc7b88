import type { Handler } from '../handlers/handler-registry.js';
import type { PayloadCheck } from '../model/payload-check.js';
import { InvalidPayloadError } from '../model/errors.js';
import type { Attempt } from './attempt.js';

export interface Unvalidated {
  readonly handler: Handler;
  readonly attempt: Attempt;
  readonly payload: unknown;
}

/**
 * Runs a handler with what the schema makes of the payload. One that does not fit is noted on the attempt: no retry could change that.
 *
 * @throws InvalidPayloadError; whatever the schema or the handler throws.
 */
export async function runValidated(schema: PayloadCheck, { handler, attempt, payload }: Unvalidated): Promise<unknown> {
  const fitting = await validate(schema, attempt, payload);
  return handler.run(fitting, attempt);
}

async function validate(schema: PayloadCheck, attempt: Attempt, payload: unknown): Promise<unknown> {
  try {
    return await schema.check(payload, attempt.type);
  } catch (error) {
    if (error instanceof InvalidPayloadError) attempt.refusal = error;
    throw error;
  }
}
