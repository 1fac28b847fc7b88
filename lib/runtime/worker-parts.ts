import type { JobLoggerFactory } from '../execution/attempt.js';
import type { Executor } from '../execution/executor.js';
import type { Clock } from '../model/clock.js';
import type { JobEvents } from '../model/events.js';
import type { LimitedType } from '../model/limited-type.js';
import type { JobStore, QueueScope } from '../stores/job-store.js';
import type { BatchCloser } from './batch-closer.js';
import type { ClaimDesk } from './claim-desk.js';
import type { LeaseKeeper } from './lease-keeper.js';
import type { OutcomeMeter } from './settler.js';
import type { NoteWriter } from './note-writer.js';
import type { OnceRunner } from './once-runner.js';
import type { OutageReport } from './outage-report.js';
import type { SuspectSeat } from './suspect-seat.js';

export interface WorkerSettings {
  /** Rest between two looks at an idle store, milliseconds; `Infinity` where the store tells of every due job. */
  readonly pollMs: number;
  readonly leaseMs: number;
  /** Most jobs claimed ahead of free workers. */
  readonly prefetch: number;
  /** A job interrupted this often ends failed. */
  readonly maxInterruptions: number;
  /** The name of this process in the store. */
  readonly owner: string;
  /** The queues to claim from; `undefined` means all of them. */
  readonly queues?: QueueScope | undefined;
}

export interface WorkerParts {
  readonly store: JobStore;
  readonly executor: Executor;
  readonly events: JobEvents;
  readonly clock: Clock;
  readonly makeLogger: JobLoggerFactory;
  /** Shared by all workers of this owner. */
  readonly notes: NoteWriter;
  /** Absent where leases never end. */
  readonly keeper: LeaseKeeper | undefined;
  /** Absent where nobody reads what it counts. */
  readonly meter?: OutcomeMeter | undefined;
  /** Absent where nothing could be remembered. */
  readonly once?: OnceRunner | undefined;
  /** Shared by all workers of this owner, like the seat. */
  readonly desk: ClaimDesk;
  readonly seat: SuspectSeat;
  readonly outages: OutageReport;
  /** Told of batches of which jobs are over, once that is in the store. Absent where the store sees to them by itself. */
  readonly batches?: Pick<BatchCloser, 'tell'> | undefined;
  /** The types to claim; `undefined` means any. Asked before each claim, so that handlers may come later. */
  readonly claimTypes: () => readonly string[] | undefined;
  /** How many jobs of a type may run at the same time in this process. Asked before each claim as well. */
  readonly limits: () => ReadonlyMap<string, number>;
  /** The types with limits that hold for all processes together: they are claimed in a way of their own. */
  readonly limited: () => readonly LimitedType[];
  /** A job of this type was claimed that has a key: from now on its type is one of those. */
  readonly learnKeyed: (type: string) => void;
  /** Called when jobs have ended in the store. */
  readonly onFreed: () => void;
  /** The types of the jobs that all workers of this owner run, or will run next. */
  readonly held: () => Iterable<string>;
}
