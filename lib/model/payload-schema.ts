/**
 * A schema of any library that keeps to Standard Schema (https://standardschema.dev), version 1: zod, valibot, arktype and others.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a Standard Schema says of a value: what it makes of it, or what is wrong with it. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A class whose fields carry decorators of class-validator. */
export type PayloadClass = abstract new (...args: never[]) => object;

/** What a payload must fit: a Standard Schema, or a class with decorators of class-validator. */
export type PayloadSchema = StandardSchema<never, unknown> | StandardSchema<unknown, unknown> | PayloadClass;

/** What the schema makes of a payload: what its handler receives. */
export type SchemaOutput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : S extends abstract new (...args: never[]) => infer I
    ? I
    : unknown;

/** What the schema takes; of a class nothing is known. */
export type SchemaInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : unknown;
