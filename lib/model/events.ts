import type { ClaimedJob } from './job.js';
import type { Complaint, OutcomeKind } from './outcome.js';

/** What an event says of its job. Never the payload. */
export type JobFacts = Pick<ClaimedJob, 'id' | 'type' | 'attempts' | 'maxRetries'>;

/** The events of one queue, and what each carries. They are sent once they are true in the store. */
export interface JobEventMap {
  completed: { readonly job: JobFacts; readonly durationMs: number };
  retried: { readonly job: JobFacts; readonly error: string; readonly delayMs: number; readonly durationMs: number };
  failed: {
    readonly job: JobFacts;
    readonly error: string;
    readonly stack: string | undefined;
    readonly durationMs: number;
  };
  /** Ended as failed without this attempt, because it could not start before `expiresAt`. */
  expired: { readonly job: JobFacts };
  /** Put off by its handler, at no cost. */
  snoozed: { readonly job: JobFacts; readonly delayMs: number; readonly durationMs: number };
  /** How far a running job has come, as its handler said; at most once a second, the latest. */
  progress: { readonly job: JobFacts; readonly fraction: number; readonly note?: string | undefined };
  /** Something in the app's own code was put right; sent with the outcome of the attempt. */
  complaint: Complaint & { readonly job: JobFacts };
  /** Given back unfinished, because the process stops or its lease ran out. */
  released: { readonly job: JobFacts };
  /** Its handler ignored the stop; the job is run again when its lease has ended. */
  abandoned: { readonly job: JobFacts };
  /** A running job of this process was cancelled, here or elsewhere: its attempt was told to end, its outcome is dropped. */
  cancelled: { readonly job: JobFacts };
  /** Another worker owns the job by now; this attempt's outcome was dropped. `hasBegun`: whether it ran here, and not only waited to be run. */
  lost: { readonly job: JobFacts; readonly outcome: OutcomeKind | undefined; readonly hasBegun: boolean };
  /** A worker died, or lost its lease, while it held the job. */
  interrupted: {
    readonly id: string;
    readonly type: string;
    readonly interruptions: number;
    readonly state: 'pending' | 'failed';
  };
  /** An attempt has been running for a long time. */
  slow: { readonly job: JobFacts; readonly durationMs: number };
  /** Pending jobs of types that no handler of this process knows. */
  'unknown-types': { readonly types: readonly string[] };
  /** The store failed; sent once per outage. */
  'store-down': { readonly error: unknown };
  'store-up': { readonly outageMs: number };
  /** The queue has been stopping for a second, and jobs still run: they have so long to end by themselves. */
  draining: { readonly running: number; readonly timeoutMs: number };
  /** The queue was stopped while the store did not answer; these jobs are run again when their leases have ended. */
  unsettled: { readonly count: number };
  /** The memory queue was stopped with jobs left; they are gone. */
  dropped: { readonly count: number };
}

export type JobEventKind = keyof JobEventMap;

type Listener<K extends JobEventKind> = (event: JobEventMap[K]) => void;

/** Tells listeners what has happened. A listener that throws changes nothing and stops no other one. */
export class JobEvents {
  private readonly listeners = new Map<JobEventKind, Set<Listener<never>>>();

  /** Calls `listener` on each event of this kind; returns the way to stop it. */
  on<K extends JobEventKind>(kind: K, listener: Listener<K>): () => void {
    const known = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, known.add(listener));
    return () => known.delete(listener);
  }

  /** Whether anybody listens, so that costly facts need not be gathered for nobody. */
  hasListeners(kind: JobEventKind): boolean {
    return (this.listeners.get(kind)?.size ?? 0) > 0;
  }

  emit<K extends JobEventKind>(kind: K, event: JobEventMap[K]): void {
    for (const listener of this.listeners.get(kind) ?? []) {
      try {
        (listener as Listener<K>)(event);
      } catch {
        // An observer must not be able to hurt a job; its own bug is its own to report.
      }
    }
  }
}
