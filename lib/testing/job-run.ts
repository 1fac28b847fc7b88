import type { JobEvents, JobFacts } from '../model/events.js';
import type { QueueKind } from '../model/job-event.js';

/** What came of one attempt in a test. */
export interface JobRun {
  readonly id: string;
  readonly type: string;
  readonly queue: QueueKind;
  /** 1 for the first. */
  readonly attempt: number;
  readonly outcome: 'completed' | 'retried' | 'failed' | 'snoozed' | 'expired' | 'released' | 'cancelled' | 'lost';
  /** The message of its error, where it had one. */
  readonly error?: string;
  /** Milliseconds until it is due again, where it is. */
  readonly delay?: number;
}

const outcomes = ['completed', 'retried', 'failed', 'snoozed', 'expired', 'released', 'cancelled', 'lost'] as const;

/** Calls `tell` with what comes of each attempt. */
export function recordRuns(events: JobEvents, queue: QueueKind, tell: (run: JobRun) => void): void {
  for (const outcome of outcomes) {
    events.on(outcome, (event: { readonly job: JobFacts; readonly error?: string; readonly delayMs?: number }) => {
      const { id, type, attempts } = event.job;
      const error = event.error === undefined ? {} : { error: event.error };
      const delay = event.delayMs === undefined ? {} : { delay: event.delayMs };
      tell({ id, type, queue, attempt: attempts + 1, outcome, ...error, ...delay });
    });
  }
}
