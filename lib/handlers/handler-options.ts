import { checkFunction, checkOneOf } from '../model/check.js';
import {
  policyKeys,
  resolveHandlerPolicy,
  type HandlerPolicy,
  type HandlerPolicyOptions,
} from '../model/handler-policy.js';
import type { PayloadOf } from '../model/job-payloads.js';
import type { PayloadSchema } from '../model/payload-schema.js';
import { payloadCheckOf } from './payload-check-of.js';

/** What a handler says about the jobs that it runs, in `@JobHandler` and in `register`; what it leaves out, the queue decides. */
export interface RegisterOptions<T extends string = string> extends HandlerPolicyOptions {
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
  /**
   * Whether it runs in a transaction of the app's DataSource, whose commit completes the job: what it writes through `job.manager` happens exactly
   * once. On PostgreSQL and MySQL each of these attempts takes a connection of the app's pool. For the persistent queue. Default false.
   */
  transactional?: boolean;
}

/** The names of these options. */
export const handlerOptionKeys = [...policyKeys, 'uniqueKey', 'schema', 'transactional'];

/**
 * Checks these options; other keys of `given` are left alone.
 *
 * @param place What stands before the name of the option in messages.
 * @throws InvalidOptionError
 */
export function resolveHandlerOptions(place: string, given: Readonly<Record<string, unknown>>): HandlerPolicy {
  const read = <V>(key: string, check: (name: string, value: unknown) => V): V | undefined =>
    given[key] === undefined ? undefined : check(place + key, given[key]);
  return {
    ...resolveHandlerPolicy(place, given),
    uniqueKey: read('uniqueKey', checkFunction),
    schema: read('schema', payloadCheckOf),
    transactional: read('transactional', (name, value) => checkOneOf(name, value, [true, false] as const)),
  };
}
