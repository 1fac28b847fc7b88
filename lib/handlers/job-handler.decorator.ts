import { checkFunction, checkKnownKeys } from '../model/check.js';
import { DuplicateHandlerError, InvalidHandlerError, InvalidJobTypeError } from '../model/errors.js';
import { policyKeys, resolveHandlerPolicy, type HandlerPolicyOptions } from '../model/handler-policy.js';
import { checkInstanceName } from '../model/instance-name.js';
import type { JobContext } from '../model/job-context.js';
import type { JobType, PayloadFit, PayloadOf } from '../model/job-payloads.js';
import { checkJobType } from '../model/job-type.js';
import { addMark, methodSource, ownerName, ownMarks, type HandlerMark, type MethodName } from './handler-metadata.js';

/** What a handler says about the jobs that it runs; what it leaves out, the queue decides. */
export interface JobHandlerOptions<T extends string = string> extends HandlerPolicyOptions {
  /**
   * Makes the `uniqueKey` of a job from its payload; `undefined` means none. Asked by `enqueue` in processes that know this handler; a job's own
   * `uniqueKey` wins over it. Must always make the same key of the same payload.
   */
  uniqueKey?(payload: PayloadOf<T>): string | undefined;
  /** The name of the one `JobsModule` that this handler serves. Default: every one. */
  instance?: string;
}

/** Put on a method: it compiles only where the method takes every payload of the job type. */
export type HandlerDecorator<T extends string> = <H extends (payload: never, job: JobContext) => unknown>(
  target: object,
  method: MethodName,
  descriptor: TypedPropertyDescriptor<H> & FittingMethod<T, H>,
) => void;

type FittingMethod<T extends string, H> = H extends (payload: infer P, ...rest: never[]) => unknown
  ? PayloadFit<T, P>
  : unknown;

const knownOptions = [...policyKeys, 'uniqueKey', 'instance'];

/**
 * Makes a method of a provider or controller the handler of a job type.
 *
 * The method receives the payload and a `JobContext`. What it returns is awaited; what it throws fails the attempt. It may be inherited, static
 * or named by a symbol, and may carry several `@JobHandler`s. Its class has to be a provider or controller of some module of the
 * app: a class that no module knows is never found.
 *
 * @throws InvalidOptionError, InvalidJobTypeError or InvalidHandlerError while the class is being defined.
 */
export function JobHandler<T extends JobType>(type: T, options: JobHandlerOptions<T> = {}): HandlerDecorator<T> {
  return (target, method, descriptor) => {
    const source = checkTarget(target, method, descriptor);
    const mark = makeMark(source, type, options);
    const present = ownMarks(target).get(method) ?? [];
    if (present.some((other) => other.type === mark.type && other.instance === mark.instance)) {
      throw new DuplicateHandlerError(`${source} has two @JobHandler('${mark.type}'); keep one of them`);
    }
    addMark(target, method, mark);
  };
}

function checkTarget(target: unknown, method: unknown, descriptor: unknown): string {
  const isOwner = typeof target === 'function' || (typeof target === 'object' && target !== null);
  if (!isOwner || (typeof method !== 'string' && typeof method !== 'symbol')) {
    throw new InvalidHandlerError(
      "@JobHandler needs TypeScript's experimentalDecorators, as Nest does, and stands on a method of a class",
    );
  }
  const source = methodSource(ownerName(target), method);
  // An accessor may be the work of a decorator that binds the method, so it counts as a method; it is not evaluated here.
  const isMethod =
    typeof descriptor === 'object' &&
    descriptor !== null &&
    (('value' in descriptor && typeof descriptor.value === 'function') || 'get' in descriptor);
  if (isMethod) return source;
  throw new InvalidHandlerError(`@JobHandler stands on ${source}, which is no method; put it on a method`);
}

function makeMark(source: string, type: unknown, options: unknown): HandlerMark {
  const place = `@JobHandler on ${source}: `;
  const given = checkKnownKeys(`${place}options`, options, knownOptions);
  const { instance, uniqueKey } = given;
  return {
    type: checkTypeAt(place, type),
    instance: instance === undefined ? undefined : checkInstanceName(`${place}instance`, instance),
    policy: {
      ...resolveHandlerPolicy(place, given),
      uniqueKey: uniqueKey === undefined ? undefined : checkFunction(`${place}uniqueKey`, uniqueKey),
    },
  };
}

function checkTypeAt(place: string, type: unknown): string {
  try {
    return checkJobType(type);
  } catch (error) {
    if (error instanceof InvalidJobTypeError) throw new InvalidJobTypeError(place + error.message);
    throw error;
  }
}
