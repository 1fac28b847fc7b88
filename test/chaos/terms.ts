import type { PersistentQueueOptions } from '../../lib/model/queue-options.js';

/**
 * What all processes of a chaos run agree on. The lease is short, so that two minutes see many of them end; the limit of
 * interruptions is high, so that bad luck alone cannot reach it, and a job that kills its process still does.
 */
export const terms = {
  leaseMs: 3_000,
  /** Jobs at the same time, of the default queue and of the other one, and how many each claims ahead. */
  workers: 3,
  sideWorkers: 1,
  prefetch: 20,
  shutdownMs: 1_000,
  maxInterruptions: 8,
  /** Retries of jobs that always fail. */
  doomedRetries: 2,
  /** Retries of jobs whose handlers use the database, which is taken away from them time and again. */
  patientRetries: 200,
  /** Limit of the handler that runs into it, and the retries of its jobs. */
  timeoutMs: 200,
  timeoutRetries: 1,
} as const;

/** Has a worker of its own. */
export const sideQueue = 'side';

export const queueOptions: PersistentQueueOptions = {
  workers: terms.workers,
  queues: { [sideQueue]: terms.sideWorkers },
  prefetch: terms.prefetch,
  pollInterval: 100,
  lease: terms.leaseMs,
  shutdownTimeout: terms.shutdownMs,
  maxInterruptions: terms.maxInterruptions,
  interruptionBackoff: 50,
  backoff: { initial: 20, max: 300, jitter: 0.5 },
};

/** Business rows that live and die with the jobs enqueued beside them. */
export const ordersTable = 'chaos_orders';

/** Milliseconds of a clock that all processes of a machine share and nobody can set. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
