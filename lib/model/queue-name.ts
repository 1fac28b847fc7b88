import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** Where jobs wait that name no queue. */
export const defaultQueue = 'default';

/** Characters of the longest name of a queue. */
export const longestQueueName = 64;

const allowed = /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.:/ -]*[\p{L}\p{N}_])?$/u;

/** @throws InvalidOptionError unless `name` is one that every database keeps as it is. */
export function checkQueueName(option: string, name: unknown): string {
  if (typeof name === 'string' && name.length <= longestQueueName && allowed.test(name)) return name;
  throw new InvalidOptionError(
    `${option} must be the name of a queue: 1 to ${longestQueueName} letters, digits, '_', and between them '.', ':', '/', '-' or spaces; ` +
      `got ${show(name)}`,
  );
}
