import { InvalidHandlerError } from '../model/errors.js';
import { methodSource, ownerName } from './method-marks.js';

/** What a method decorator is called with; anything at all where it stands on something else. */
export interface Decorated {
  readonly target: unknown;
  readonly method: unknown;
  readonly descriptor: unknown;
}

/**
 * Refuses what is no method. Returns it as messages name it: `Mailer.send`.
 *
 * @param decorator For messages: `@JobHandler`.
 * @throws InvalidHandlerError
 */
export function checkDecorated(decorator: string, { target, method, descriptor }: Decorated): string {
  const isOwner = typeof target === 'function' || (typeof target === 'object' && target !== null);
  if (!isOwner || (typeof method !== 'string' && typeof method !== 'symbol')) {
    throw new InvalidHandlerError(
      `${decorator} needs TypeScript's experimentalDecorators, as Nest does, and stands on a method of a class`,
    );
  }
  const source = methodSource(ownerName(target), method);
  // An accessor may be the work of a decorator that binds the method, so it counts as a method; it is not evaluated here.
  const isMethod =
    typeof descriptor === 'object' &&
    descriptor !== null &&
    (('value' in descriptor && typeof descriptor.value === 'function') || 'get' in descriptor);
  if (isMethod) return source;
  throw new InvalidHandlerError(`${decorator} stands on ${source}, which is no method; put it on a method`);
}
