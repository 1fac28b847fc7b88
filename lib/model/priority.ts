import { checkInteger } from './check.js';

/** @throws InvalidOptionError unless `priority` is a whole number from -100 to 100: each one in use costs every claim a look. */
export function checkPriority(option: string, priority: unknown): number {
  return checkInteger(option, priority, -100, 100);
}
