import type { ModulesContainer } from '@nestjs/core';
import type { HandlerRegistry } from './handlers/handler-registry.js';
import type { Clock } from './model/clock.js';
import type { JobEvents } from './model/events.js';
import type { QueueKind } from './model/job-event.js';
import type { JobMiddleware } from './model/job-middleware.js';
import type { NewJob } from './model/job.js';
import type { MemoryQueueOptions, PersistentQueueOptions } from './model/queue-options.js';
import type { JobQueue } from './queues/job-queue.js';
import type { PersistentJobQueue } from './queues/persistent-job-queue.js';
import type { AdministeredStore } from './stores/job-store.js';

/** Under it a testing kit stands among the providers of an app. */
export const harnessToken = Symbol('testing kit of the JobsModule');

/** What a testing kit puts in the place of the real thing, for one `JobsModule`. */
export interface InstanceHarness {
  readonly clock: Clock;
  /** Goes around everything else. */
  readonly middleware: JobMiddleware;
  /** @param dataSource The app's DataSource, or `undefined` where it has none. */
  openStore(dataSource: () => Promise<unknown>): Promise<AdministeredStore>;
  /** Hears of jobs that were submitted to the memory queue. */
  readonly onSubmitted: (job: NewJob) => void;
  /** Called once the queues are made. */
  attach(parts: HarnessedParts): void;
  /** Called when the handlers and the schedules of the app are known, in the place of a start. */
  discovered(): Promise<void>;
}

/** What a testing kit works with. */
export interface HarnessedParts {
  readonly registry: HandlerRegistry;
  readonly events: Readonly<Record<QueueKind, JobEvents>>;
  /** Absent where a test double stands in its place. */
  readonly memory: JobQueue | undefined;
  /** Absent where it is switched off, and where a test double stands in its place. */
  readonly persistent: PersistentJobQueue | undefined;
  /** Those of the queue whose handlers are run as units. */
  readonly options: MemoryQueueOptions & PersistentQueueOptions;
}

/** The testing kit of an app; told by what it is, so that it costs nobody else anything. */
export interface JobsHarness {
  of(instance: string): InstanceHarness;
}

/** The kit that an app was given for its tests, if it was. */
export function findHarness(modules: ModulesContainer): JobsHarness | undefined {
  for (const { providers } of modules.values()) {
    const kit: unknown = providers.get(harnessToken)?.instance;
    if (isHarness(kit)) return kit;
  }
  return undefined;
}

function isHarness(value: unknown): value is JobsHarness {
  return typeof value === 'object' && value !== null && 'of' in value && typeof value.of === 'function';
}
