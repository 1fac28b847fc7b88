import { checkFunction, checkKnownKeys, checkOneOf } from '../model/check.js';
import { DuplicateHandlerError, InvalidJobTypeError } from '../model/errors.js';
import { policyKeys, resolveHandlerPolicy, type HandlerPolicyOptions } from '../model/handler-policy.js';
import { checkInstanceName } from '../model/instance-name.js';
import type { JobContext } from '../model/job-context.js';
import type { JobType, PayloadFit, PayloadOf, SchemaFit } from '../model/job-payloads.js';
import { checkJobType } from '../model/job-type.js';
import type { PayloadSchema } from '../model/payload-schema.js';
import { checkDecorated } from './decorated-method.js';
import { handlerMarks, type HandlerMark } from './handler-metadata.js';
import type { MethodName } from './method-marks.js';
import { payloadCheckOf } from './payload-check-of.js';

/** What a handler says about the jobs that it runs; what it leaves out, the queue decides. */
export interface JobHandlerOptions<T extends string = string> extends HandlerPolicyOptions {
  /** See `HandlerPolicyOptions.key`. */
  key?(payload: PayloadOf<T>): string | undefined;
  /**
   * Makes the `uniqueKey` of a job from its payload; `undefined` means none. Asked by `enqueue` in processes that know this handler; a job's own
   * `uniqueKey` wins over it. Must always make the same key of the same payload.
   */
  uniqueKey?(payload: PayloadOf<T>): string | undefined;
  /**
   * What payloads must fit: a Standard Schema (zod, valibot, arktype), or a class with decorators of class-validator. Checked in
   * `enqueue` and `submit`, and again before each attempt; the handler receives what the schema makes of the payload.
   */
  schema?: PayloadSchema;
  /** Whether Nest's guards, pipes, interceptors and filters run around it. Default: what the `JobsModule` says. */
  enhancers?: boolean;
  /** The name of the one `JobsModule` that this handler serves. Default: every one. */
  instance?: string;
}

/** Put on a method: it compiles only where the method takes every payload of the job type. */
export type HandlerDecorator<T extends string, S = undefined> = <
  H extends (payload: never, job: JobContext) => unknown,
>(
  target: object,
  method: MethodName,
  descriptor: TypedPropertyDescriptor<H> & FittingMethod<T, H, S>,
) => void;

type FittingMethod<T extends string, H, S> = H extends (payload: infer P, ...rest: never[]) => unknown
  ? S extends PayloadSchema
    ? SchemaFit<T, P, S>
    : PayloadFit<T, P>
  : unknown;

const knownOptions = [...policyKeys, 'uniqueKey', 'schema', 'enhancers', 'instance'];

/**
 * Makes a method of a provider or controller the handler of a job type.
 *
 * The method receives the payload and a `JobContext`. What it returns is awaited; what it throws fails the attempt. It may be inherited, static
 * or named by a symbol, and may carry several `@JobHandler`s. Its class has to be a provider or controller of some module of the
 * app: a class that no module knows is never found.
 *
 * @throws InvalidOptionError, InvalidJobTypeError or InvalidHandlerError while the class is being defined.
 */
export function JobHandler<T extends JobType, S extends PayloadSchema>(
  type: T,
  options: JobHandlerOptions<T> & { schema: S },
): HandlerDecorator<T, S>;
export function JobHandler<T extends JobType>(type: T, options?: JobHandlerOptions<T>): HandlerDecorator<T>;
export function JobHandler<T extends JobType>(type: T, options: JobHandlerOptions<T> = {}): HandlerDecorator<T> {
  return (target, method, descriptor) => {
    const source = checkDecorated('@JobHandler', { target, method, descriptor });
    const mark = makeMark(source, type, options);
    const present = handlerMarks.ownOf(target).get(method) ?? [];
    if (present.some((other) => other.type === mark.type && other.instance === mark.instance)) {
      throw new DuplicateHandlerError(`${source} has two @JobHandler('${mark.type}'); keep one of them`);
    }
    handlerMarks.add(target, method, mark);
  };
}

function makeMark(source: string, type: unknown, options: unknown): HandlerMark {
  const place = `@JobHandler on ${source}: `;
  const given = checkKnownKeys(`${place}options`, options, knownOptions);
  const read = <V>(key: string, check: (name: string, value: unknown) => V): V | undefined =>
    given[key] === undefined ? undefined : check(place + key, given[key]);
  return {
    type: checkTypeAt(place, type),
    instance: read('instance', checkInstanceName),
    enhancers: read('enhancers', (name, value) => checkOneOf(name, value, [true, false] as const)),
    policy: {
      ...resolveHandlerPolicy(place, given),
      uniqueKey: read('uniqueKey', checkFunction),
      schema: read('schema', payloadCheckOf),
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
