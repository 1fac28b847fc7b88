import { describeError } from './failure.js';
import type { JobEventKind, JobEventMap, JobFacts } from './events.js';

/** The two queues of a `JobsModule`. */
export type QueueKind = 'memory' | 'persistent';

/** Where an event comes from. */
export interface EventOrigin {
  readonly queue: QueueKind;
  /** The name of the `JobsModule`. */
  readonly instance: string;
}

/** The job that an event is about. Never its payload. */
export interface EventJob {
  readonly id: string;
  readonly type: string;
  /** The attempt that the event is about: 1 for the first. */
  readonly attempt: number;
  readonly maxRetries: number;
}

type Told<E> = { readonly [F in keyof E]: F extends 'job' ? EventJob : F extends 'error' ? string : E[F] };

interface Interrupted extends Pick<JobEventMap['interrupted'], 'interruptions' | 'state'> {
  readonly job: Pick<EventJob, 'id' | 'type'>;
}

type Details<K extends JobEventKind> = K extends 'interrupted' ? Interrupted : Told<JobEventMap[K]>;

/**
 * What has happened, as listeners are told: sent once it is true in the store. Durations are milliseconds, an `error` is the text of
 * one. `kind` tells the members of the union apart.
 */
export type JobEvent<K extends JobEventKind = JobEventKind> = {
  readonly [E in K]: EventOrigin & { readonly kind: E } & Details<E>;
}[K];

/** What an event is about: one job, or the queue as a whole. */
const subjects: Readonly<Record<JobEventKind, 'job' | 'queue'>> = {
  completed: 'job',
  retried: 'job',
  failed: 'job',
  expired: 'job',
  snoozed: 'job',
  progress: 'job',
  complaint: 'job',
  cancelled: 'job',
  released: 'job',
  abandoned: 'job',
  lost: 'job',
  interrupted: 'job',
  slow: 'job',
  'unknown-types': 'queue',
  'store-down': 'queue',
  'store-up': 'queue',
  unsettled: 'queue',
  draining: 'queue',
  dropped: 'queue',
};

export const jobEventKinds = Object.keys(subjects) as readonly JobEventKind[];

/** Whether events of this kind are about one job, and so have a job type. */
export function isAboutJob(kind: JobEventKind): boolean {
  return subjects[kind] === 'job';
}

/** The job type of an event; `undefined` where it is about the queue. */
export function typeOfEvent(event: JobEvent): string | undefined {
  return 'job' in event ? event.job.type : undefined;
}

/** Makes of an event of the engine what listeners are told: of the job only what is public, of errors only their text. */
export function toJobEvent<K extends JobEventKind>(kind: K, event: JobEventMap[K], origin: EventOrigin): JobEvent<K> {
  return { kind, ...origin, ...detailsOf(kind, event) } as unknown as JobEvent<K>;
}

function detailsOf(kind: JobEventKind, event: JobEventMap[JobEventKind]): object {
  if (kind === 'interrupted' && 'interruptions' in event) {
    const { id, type, ...rest } = event;
    return { job: { id, type }, ...rest };
  }
  const job = 'job' in event ? { job: toEventJob(event.job) } : {};
  const error = 'error' in event ? { error: textOf(event.error) } : {};
  return { ...event, ...job, ...error };
}

function toEventJob({ id, type, attempts, maxRetries }: JobFacts): EventJob {
  return { id, type, attempt: attempts + 1, maxRetries };
}

function textOf(error: unknown): string {
  return typeof error === 'string' ? error : describeError(error);
}
