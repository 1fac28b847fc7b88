import { DuplicateHandlerError } from '../model/errors.js';
import { checkJobType } from '../model/job-type.js';
import type { HandlerPolicy } from '../model/handler-policy.js';
import type { JobContext } from '../model/job-context.js';

/** The handler of one job type. */
export interface Handler {
  readonly type: string;
  /** Where it stands, for messages: `Mailer.sendWelcomeEmail`. */
  readonly source: string;
  readonly policy: HandlerPolicy;
  run(payload: unknown, job: JobContext): unknown;
}

/** All handlers that one queue can run. A `Map`, so that a type called `constructor` is just unknown. */
export class HandlerRegistry {
  private readonly handlers = new Map<string, Handler>();
  private typeList: readonly string[] = [];
  /** Whether any handler says what its payloads must fit. */
  hasSchemas = false;
  private readonly listeners = new Set<() => void>();

  /** @throws DuplicateHandlerError when the type has another handler already. */
  add(handler: Handler): void {
    checkJobType(handler.type);
    const present = this.handlers.get(handler.type);
    if (present !== undefined) {
      throw new DuplicateHandlerError(
        `job type '${handler.type}' has two handlers, ${present.source} and ${handler.source}; ` +
          'keep one of them, or give one another type',
      );
    }
    this.handlers.set(handler.type, handler);
    this.hasSchemas ||= handler.policy.schema !== undefined;
    this.typeList = [...this.handlers.keys()];
    for (const listener of this.listeners) listener();
  }

  get(type: string): Handler | undefined {
    return this.handlers.get(type);
  }

  /** The types that can be run, in the order of their registration. */
  types(): readonly string[] {
    return this.typeList;
  }

  /** Calls `listener` after each new handler. */
  onAdded(listener: () => void): void {
    this.listeners.add(listener);
  }
}
