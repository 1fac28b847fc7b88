import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The id of a persistent job as the database has it; `undefined` for a text that can be none, and so is the id of no job.
 *
 * @throws InvalidOptionError when it is no text at all.
 */
export function toJobId(id: unknown): string | undefined {
  if (typeof id !== 'string') throw new InvalidOptionError(`the id of a job must be a string, got ${show(id)}`);
  const lower = id.toLowerCase();
  return uuid.test(lower) ? lower : undefined;
}
