import type { ValidationError } from 'class-validator';
import { InvalidHandlerError, type PayloadIssue } from '../model/errors.js';
import { misfit, type PayloadCheck } from '../model/payload-check.js';
import type { PayloadClass } from '../model/payload-schema.js';
import { pathStep } from '../model/payload.js';
import { className } from './method-marks.js';

interface Tools {
  readonly transformer: typeof import('class-transformer');
  readonly validator: typeof import('class-validator');
}

/** Makes payloads instances of a class and checks them by its decorators of class-validator, which is loaded when it is first needed. */
export class ClassCheck implements PayloadCheck {
  private tools: Promise<Tools> | undefined;

  constructor(private readonly type: PayloadClass) {}

  async check(payload: unknown, type: string): Promise<unknown> {
    const { transformer, validator } = await this.load(type);
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
      throw misfit(type, [{ path: 'payload', message: 'must be an object' }]);
    }
    const make = this.type as unknown as new () => object;
    const made: object = transformer.plainToInstance(make, payload);
    const errors = await validator.validate(made);
    if (errors.length > 0)
      throw misfit(
        type,
        errors.flatMap((error) => issuesOf(error, 'payload')),
      );
    return made;
  }

  async prepare(type: string): Promise<void> {
    await this.load(type);
  }

  private load(type: string): Promise<Tools> {
    this.tools ??= this.loadTools(type);
    return this.tools;
  }

  private async loadTools(type: string): Promise<Tools> {
    try {
      const [transformer, validator] = await Promise.all([import('class-transformer'), import('class-validator')]);
      return { transformer, validator };
    } catch (cause) {
      this.tools = undefined;
      throw new InvalidHandlerError(
        `the schema of job type '${type}' is the class ${className(this.type) ?? 'without a name'}, which takes class-validator ` +
          'and class-transformer: install both, or give a Standard Schema, such as one of zod',
        { cause },
      );
    }
  }
}

/** An error without constraints of its own only holds those of what is inside. */
function issuesOf({ property, constraints, children }: ValidationError, above: string): readonly PayloadIssue[] {
  // The error of a class without any decorators names no property.
  const path = (property as string | undefined) === undefined ? above : above + pathStep(nameOrIndex(property));
  const own = Object.values(constraints ?? {}).map((message) => ({ path, message }));
  return [...own, ...(children ?? []).flatMap((child) => issuesOf(child, path))];
}

/** class-validator names the items of an array by the text of their index. */
function nameOrIndex(property: string): string | number {
  return /^\d+$/.test(property) ? Number(property) : property;
}
