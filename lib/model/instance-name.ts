import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** The name of the `JobsModule` that was given none. */
export const defaultInstanceName = 'default';

/** @throws InvalidOptionError unless `name` can be the name of a `JobsModule`. */
export function checkInstanceName(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name;
  throw new InvalidOptionError(
    `${option} must be 1 to 64 letters, digits, dots, dashes and underscores, like 'reports', got ${show(name)}`,
  );
}
