import { checkKnownKeys, checkOneOf } from '../model/check.js';
import { InvalidOptionError } from '../model/errors.js';
import type { JobEventKind } from '../model/events.js';
import { checkInstanceName } from '../model/instance-name.js';
import { isAboutJob, jobEventKinds, type JobEvent } from '../model/job-event.js';
import type { JobType } from '../model/job-payloads.js';
import { checkJobType } from '../model/job-type.js';
import { checkDecorated } from './decorated-method.js';
import { listenerMarks, type ListenerMark } from './listener-metadata.js';
import type { MethodName } from './method-marks.js';

/** Which events a listener hears. */
export interface OnJobEventOptions {
  /** Only events of jobs of this type, or of these types. Default: all. */
  type?: JobType | readonly JobType[];
  /** The name of the one `JobsModule` whose events it hears. Default: every one. */
  instance?: string;
}

/** Put on a method that takes the event. */
export type ListenerDecorator<K extends JobEventKind> = <L extends (event: JobEvent<K>) => unknown>(
  target: object,
  method: MethodName,
  descriptor: TypedPropertyDescriptor<L>,
) => void;

const knownOptions = ['type', 'instance'];

/**
 * Has a method of a provider or controller called on each event of a kind, of both queues.
 *
 * The event is sent once the store has what it says. Nobody waits for the method, and what it throws changes nothing: it is logged once.
 * Whatever must not be lost belongs into a job, not into a listener. Methods are found as those with `@JobHandler` are, and may carry
 * several of these.
 *
 * @throws InvalidOptionError, InvalidJobTypeError or InvalidHandlerError while the class is being defined.
 */
export function OnJobEvent<K extends JobEventKind>(kind: K, options: OnJobEventOptions = {}): ListenerDecorator<K> {
  return (target, method, descriptor) => {
    const source = checkDecorated('@OnJobEvent', { target, method, descriptor });
    listenerMarks.add(target, method, makeMark(source, kind, options));
  };
}

function makeMark(source: string, event: unknown, options: unknown): ListenerMark {
  const place = `@OnJobEvent on ${source}: `;
  const kind = checkOneOf<JobEventKind>(`${place}the kind of event`, event, jobEventKinds);
  const { type, instance } = checkKnownKeys(`${place}options`, options, knownOptions);
  if (type !== undefined && !isAboutJob(kind)) {
    throw new InvalidOptionError(
      `${place}type does not go with '${kind}', which is about the queue as a whole; leave it out`,
    );
  }
  return {
    kind,
    types: type === undefined ? undefined : (Array.isArray(type) ? type : [type]).map(checkJobType),
    instance: instance === undefined ? undefined : checkInstanceName(`${place}instance`, instance),
  };
}
