import type { JobSchedules } from './job-schedules.js';
import { JobsAdmin } from '../admin/jobs-admin.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { mergePolicies, type HandlerPolicies } from '../model/handler-policy.js';
import type { Engine } from '../runtime/engine.js';
import type { StoreDoor } from './store-door.js';

export interface QueueAdminParts {
  readonly door: StoreDoor;
  readonly handlers: HandlerRegistry;
  readonly options: { readonly maxPayloadSize: number; readonly handlers: HandlerPolicies };
  readonly schedules: JobSchedules;
  /** That of the queue, while there is one: it hears at once of what is done to jobs that it runs. */
  readonly engine: () => Engine | undefined;
}

/** The admin of a persistent queue. */
export function adminOf({ door, handlers, options, schedules, engine }: QueueAdminParts): JobsAdmin {
  return new JobsAdmin({
    queries: async () => (await door.ready()).store.queries,
    pauses: async () => (await door.ready()).store.pauses,
    statistics: async () => (await door.ready()).store.statistics,
    schedules: () => schedules.list(),
    batches: async () => (await door.ready()).store.batches,
    onCancelled: (claims) => engine()?.cancel(claims),
    onBatches: (ids) => engine()?.batchesChanged(ids),
    maxPayloadSize: options.maxPayloadSize,
    keepCancelledMs: () => keepCancelledMs(handlers, options.handlers),
  });
}

function keepCancelledMs(handlers: HandlerRegistry, policies: HandlerPolicies): ReadonlyMap<string, number> {
  const kept = new Map<string, number>();
  for (const type of new Set([...handlers.types(), ...Object.keys(policies)])) {
    const keepMs = mergePolicies(handlers.get(type)?.policy, policies[type]).retention?.cancelled;
    if (keepMs !== undefined) kept.set(type, keepMs);
  }
  return kept;
}
