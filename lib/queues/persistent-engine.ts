import { Executor } from '../execution/executor.js';
import { makeRunWrapper } from '../execution/run-wrapper.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { NewJob } from '../model/job.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import { attemptLogger, type LogSink } from '../observe/job-log.js';
import { OnceRunner } from '../runtime/once-runner.js';
import { SettlingTransactions } from '../runtime/settling-transactions.js';
import { Engine } from '../runtime/engine.js';
import type { ProcessIdentity } from '../runtime/process-identity.js';
import { engineSettings } from './engine-settings.js';
import { TypeLimits } from './type-limits.js';
import type { AdministeredStore } from '../stores/job-store.js';

export interface PersistentEngineParts {
  readonly store: AdministeredStore;
  readonly identity: ProcessIdentity;
  readonly events: JobEvents;
  readonly clock: Clock;
  readonly options: ResolvedPersistentOptions;
  readonly handlers: HandlerRegistry;
  readonly sink: LogSink;
  readonly claimTypes: () => readonly string[] | undefined;
  /** The name under which it claims. */
  readonly owner: string;
}

/** The engine of a persistent queue, from one start to the next stop. */
export function makePersistentEngine(parts: PersistentEngineParts): Engine {
  const { options, handlers, sink, owner, ...shared } = parts;
  const limits = new TypeLimits(handlers, options.handlers);
  const engineParts = {
    ...shared,
    batches: shared.store.batches,
    statistics: parts.store.statistics,
    executor: new Executor(handlers, options, {
      wrap: makeRunWrapper(options),
      transactions: new SettlingTransactions(parts.store, parts.clock),
    }),
    once: new OnceRunner(parts.store),
    limits: () => limits.ofProcess(),
    limited: () => limits.ofFleet(),
    learnKeyed: (type: string) => limits.learnKeyed(type),
    makeLogger: (job: Pick<NewJob, 'id' | 'type'>) => attemptLogger(sink, job),
  };
  return new Engine(engineParts, engineSettings(options, owner));
}
