import { Executor } from '../execution/executor.js';
import { makeRunWrapper } from '../execution/run-wrapper.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { NewJob } from '../model/job.js';
import type { ResolvedMemoryOptions } from '../model/queue-options.js';
import { attemptLogger, type LogSink } from '../observe/job-log.js';
import { ClaimDesk } from '../runtime/claim-desk.js';
import { NoteWriter } from '../runtime/note-writer.js';
import { OutageReport } from '../runtime/outage-report.js';
import { SuspectSeat } from '../runtime/suspect-seat.js';
import { Worker } from '../runtime/worker.js';
import type { WorkerSettings } from '../runtime/worker-parts.js';
import type { MemoryStore } from '../stores/memory/memory-store.js';
import type { TypeLimits } from './type-limits.js';

export interface MemoryWorkerParts {
  readonly events: JobEvents;
  readonly clock: Clock;
  readonly store: MemoryStore;
  readonly options: ResolvedMemoryOptions;
  readonly handlers: HandlerRegistry;
  readonly sink: LogSink;
  readonly limits: TypeLimits;
}

/** The store tells of every due job, and leases never end. */
const settings: WorkerSettings = {
  pollMs: Infinity,
  leaseMs: 0,
  prefetch: 256,
  maxInterruptions: Infinity,
  owner: 'memory',
};

/** The worker of a memory queue, from one start to the next stop. */
export function makeMemoryWorker({ events, clock, store, options, handlers, sink, limits }: MemoryWorkerParts): Worker {
  const parts = {
    store,
    events,
    clock,
    executor: new Executor(handlers, options, { wrap: makeRunWrapper(options) }),
    notes: new NoteWriter(store, events),
    makeLogger: (job: Pick<NewJob, 'id' | 'type'>) => attemptLogger(sink, job),
    keeper: undefined,
    desk: new ClaimDesk({ disown: () => store.disown(), clock, intervalMs: Infinity }),
    seat: new SuspectSeat(),
    outages: new OutageReport(events, clock),
    claimTypes: () => undefined,
    limits: () => limits.ofProcess(),
    limited: () => limits.ofFleet(),
    learnKeyed: (type: string) => limits.learnKeyed(type),
    onFreed: () => worker.freed(),
    held: () => worker.held(),
  };
  const worker: Worker = new Worker(parts, settings);
  return worker;
}
