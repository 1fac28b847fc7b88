import { show } from '../model/check.js';
import { InvalidOptionError } from '../model/errors.js';
import { StandardCheck, type PayloadCheck } from '../model/payload-check.js';
import type { PayloadClass, StandardSchema } from '../model/payload-schema.js';
import { ClassCheck } from './class-check.js';

/** The check that an option `schema` asks for. @throws InvalidOptionError unless it is a Standard Schema or a class. */
export function payloadCheckOf(option: string, schema: unknown): PayloadCheck {
  if (isStandard(schema)) return new StandardCheck(schema);
  if (isClass(schema)) return new ClassCheck(schema);
  throw new InvalidOptionError(
    `${option} must be a Standard Schema (zod, valibot, arktype and others have them), or a class with decorators of ` +
      `class-validator, got ${show(schema)}`,
  );
}

/** Schemas may be functions, as those of arktype are. */
function isStandard(schema: unknown): schema is StandardSchema<unknown, unknown> {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard: unknown = '~standard' in schema ? schema['~standard'] : undefined;
  if (typeof standard !== 'object' || standard === null) return false;
  return (
    'version' in standard && standard.version === 1 && 'validate' in standard && typeof standard.validate === 'function'
  );
}

/** What `class` makes; a function made in another way has a writable prototype, or none. */
function isClass(schema: unknown): schema is PayloadClass {
  if (typeof schema !== 'function') return false;
  const prototype = Object.getOwnPropertyDescriptor(schema, 'prototype');
  return prototype?.writable === false && typeof prototype.value === 'object';
}
