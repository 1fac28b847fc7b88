import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import type { EngineSettings } from '../runtime/engine.js';

/** What the options say to the engine. `owner` is its name in the store. */
export function engineSettings(options: ResolvedPersistentOptions, owner: string): EngineSettings {
  return {
    pollMs: options.pollInterval,
    leaseMs: options.lease,
    prefetch: options.prefetch,
    queues: options.queues,
    maxInterruptions: options.maxInterruptions,
    keepMs: options.retention,
    interruptionBackoffMs: options.interruptionBackoff,
    owner,
  };
}
