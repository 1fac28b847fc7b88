import type { JobContext } from './job-context.js';
import type { SchemaInput, SchemaOutput } from './payload-schema.js';

/**
 * The payload of each job type, declared by the application:
 *
 * ```ts
 * declare module 'nestjs-jobs' {
 *   interface JobPayloads {
 *     send_welcome_email: { to: string };
 *   }
 * }
 * ```
 *
 * From then on the compiler checks the payloads of these types, wherever a job, a handler or a schedule names its type. Types that are not
 * declared take any value.
 */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- filled by the application
export interface JobPayloads {}

/** A job type: a declared one, which editors then complete, or any other text. */
export type JobType = keyof JobPayloads | (string & {});

/** What jobs of this type carry: the declared payload, or anything where none is declared. */
export type PayloadOf<T extends string> = T extends keyof JobPayloads ? JobPayloads[T] : unknown;

/** The arguments behind a job type. The payload may be left out only where its type allows `undefined`. */
export type PayloadArguments<T extends string, Options> =
  undefined extends PayloadOf<T>
    ? [payload?: PayloadOf<T>, options?: Options]
    : [payload: PayloadOf<T>, options?: Options];

/** The part of an object that carries a payload. It may be left out only where its type allows `undefined`. */
export type PayloadPart<T extends string> =
  undefined extends PayloadOf<T> ? { readonly payload?: PayloadOf<T> } : { readonly payload: PayloadOf<T> };

/** Part of a handler's type: nothing where it takes every payload of this job type, else what makes it fit nowhere. */
export type PayloadFit<T extends string, P> = T extends keyof JobPayloads
  ? [JobPayloads[T]] extends [P]
    ? unknown
    : { readonly 'this handler does not take the payload of its job type': JobPayloads[T] }
  : unknown;

/**
 * The same for a handler with a schema: it takes what the schema makes of a payload, and the schema takes what the application has declared.
 */
export type SchemaFit<T extends string, P, S> = [SchemaOutput<S>] extends [P]
  ? T extends keyof JobPayloads
    ? [JobPayloads[T]] extends [SchemaInput<S>]
      ? unknown
      : { readonly 'the schema does not take the payload of its job type': JobPayloads[T] }
    : unknown
  : { readonly 'this handler does not take what its schema makes of a payload': SchemaOutput<S> };

/** A function that runs jobs of this type with what a schema makes of their payloads. */
export type HandlerWithSchema<T extends string, P, S> = ((payload: P, job: JobContext) => unknown) & SchemaFit<T, P, S>;

/** A function that runs jobs of this type. `P` is what it takes; it may be more general than the payload. */
export type HandlerFor<T extends string, P> = ((payload: P, job: JobContext) => unknown) & PayloadFit<T, P>;
