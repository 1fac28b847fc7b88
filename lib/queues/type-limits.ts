import type { NewJob } from '../model/job.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { mergePolicies, type HandlerPolicies } from '../model/handler-policy.js';
import type { LimitedType } from '../model/limited-type.js';

/** What handlers and the option `handlers` say about how many jobs of a type may run, or start. Worked out anew when a handler has been added. */
export class TypeLimits {
  private limits = new Map<string, number>();
  private types: readonly LimitedType[] = [];
  private known: readonly string[] | undefined;
  /** Types of which jobs with keys have turned up, whatever is said about them. */
  private readonly keyed = new Set<string>();

  constructor(
    private readonly handlers: HandlerRegistry,
    private readonly policies: HandlerPolicies,
  ) {}

  /** How many jobs of a type may run at the same time in this process, for the types about which something was said. */
  ofProcess(): ReadonlyMap<string, number> {
    this.refresh();
    return this.limits;
  }

  /** The types with limits that hold for all processes together. */
  ofFleet(): readonly LimitedType[] {
    this.refresh();
    return this.types;
  }

  /** These jobs are about to wait: from now on those of their types that have keys wait their turns. */
  learn(jobs: readonly (Pick<NewJob, 'type' | 'key'> | undefined)[]): void {
    for (const job of jobs) if (job?.key !== undefined) this.learnKeyed(job.type);
  }

  /** There are jobs of this type with keys. */
  learnKeyed(type: string): void {
    if (this.keyed.has(type)) return;
    this.keyed.add(type);
    this.known = undefined;
  }

  private refresh(): void {
    const types = this.handlers.types();
    if (types === this.known) return;
    this.known = types;
    const limited: LimitedType[] = [];
    for (const type of new Set([...types, ...this.keyed])) {
      const policy = mergePolicies(this.handlers.get(type)?.policy, this.policies[type]);
      const { concurrency, globalConcurrency, rateLimit } = policy;
      const isKeyed = policy.key !== undefined || this.keyed.has(type);
      if (concurrency !== undefined) this.limits.set(type, concurrency);
      if (isKeyed || globalConcurrency !== undefined || rateLimit !== undefined) {
        limited.push({ type, globalConcurrency, rateLimit, isKeyed });
      }
    }
    this.types = limited;
  }
}
