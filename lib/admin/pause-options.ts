import { checkKnownKeys } from '../model/check.js';
import { InvalidOptionError } from '../model/errors.js';
import { checkJobType } from '../model/job-type.js';
import { checkQueueName } from '../model/queue-name.js';
import type { PauseTarget } from '../stores/pauses.js';

/** What is to be paused or resumed: all jobs of a type, or all in a queue. */
export type PauseOptions = { readonly type: string } | { readonly queue: string };

/** @throws InvalidOptionError | InvalidJobTypeError */
export function resolvePause(target: unknown): PauseTarget {
  const { type, queue } = checkKnownKeys('what is to be paused', target, ['type', 'queue']);
  if ((type === undefined) === (queue === undefined)) {
    throw new InvalidOptionError('what is to be paused is { type } or { queue }, one of the two');
  }
  return type === undefined
    ? { kind: 'queue', name: checkQueueName('queue', queue) }
    : { kind: 'type', name: checkJobType(type) };
}
