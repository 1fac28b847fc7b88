import { InvalidPayloadError, type PayloadIssue } from './errors.js';
import type { StandardIssue, StandardResult, StandardSchema } from './payload-schema.js';
import { pathStep } from './payload.js';

/** Says whether payloads fit, and makes of them what a handler receives. */
export interface PayloadCheck {
  /**
   * The payload as its handler receives it; a promise of it where the schema needs one.
   *
   * @param type The job type, for messages.
   * @throws InvalidPayloadError where it does not fit, at once or by the promise; anything else that a schema throws is passed on.
   */
  check(payload: unknown, type: string): unknown;
  /** Loads what it needs. @throws InvalidHandlerError when that is not installed. */
  prepare?(type: string): Promise<void>;
}

/** Checks payloads by a Standard Schema. */
export class StandardCheck implements PayloadCheck {
  constructor(private readonly schema: StandardSchema<unknown, unknown>) {}

  check(payload: unknown, type: string): unknown {
    const result = this.schema['~standard'].validate(payload);
    return result instanceof Promise ? result.then((settled) => valueOf(settled, type)) : valueOf(result, type);
  }
}

function valueOf(result: StandardResult<unknown>, type: string): unknown {
  if (result.issues === undefined) return result.value;
  throw misfit(type, result.issues.map(toIssue));
}

function toIssue({ message, path = [] }: StandardIssue): PayloadIssue {
  const keys = path.map((step) => (typeof step === 'object' ? step.key : step));
  return { path: `payload${keys.map(pathStep).join('')}`, message };
}

/** Paths that a message names at the most. */
const mostNamed = 5;

/** The error of a payload that does not fit. Its message names paths only: what schemas say of a value often contains it. */
export function misfit(type: string, issues: readonly PayloadIssue[]): InvalidPayloadError {
  const paths = [...new Set(issues.map(({ path }) => path))];
  const rest = paths.length - mostNamed;
  const named = paths.slice(0, mostNamed).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  const verb = paths.length === 1 ? 'does' : 'do';
  const error = new InvalidPayloadError(`${named || 'payload'} ${verb} not fit the schema of job type '${type}'`);
  return error.withIssues(issues);
}
