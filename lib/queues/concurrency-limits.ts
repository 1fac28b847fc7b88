import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { HandlerPolicies } from '../model/handler-policy.js';

/** How many jobs of a type may run at the same time in this process, for the types about which something was said. */
export class ConcurrencyLimits {
  private readonly limits = new Map<string, number>();
  private known: readonly string[] | undefined;

  constructor(
    private readonly handlers: HandlerRegistry,
    private readonly policies: HandlerPolicies,
  ) {}

  /** Worked out anew when a handler has been added. */
  get(): ReadonlyMap<string, number> {
    const types = this.handlers.types();
    if (types === this.known) return this.limits;
    this.known = types;
    for (const type of types) {
      const limit = this.policies[type]?.concurrency ?? this.handlers.get(type)?.policy.concurrency;
      if (limit !== undefined) this.limits.set(type, limit);
    }
    return this.limits;
  }
}
