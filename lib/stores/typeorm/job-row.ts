import type { ClaimedJob, Lease, NewJob } from '../../model/job.js';
import { JobState } from '../../model/job-state.js';
import type { Outcome } from '../../model/outcome.js';
import type { ForeignClaims, RecoveredJob, Settlement } from '../job-store.js';

/** A row as the driver gives it: bigint columns are strings in some of them. */
export type Row = Readonly<Record<string, unknown>>;

/** What a claim reads of each row. */
export const claimedColumns = [
  'id',
  'job_type',
  'payload',
  'attempts',
  'max_retries',
  'interruptions',
  'created_at',
  'context',
] as const;

/** What an insert binds for one job; the database adds the moments. */
export interface NewRow {
  readonly id: string;
  readonly type: string;
  readonly payload: string;
  readonly maxRetries: number;
  /** Epoch milliseconds, or null for now + `delayMs`. */
  readonly runAt: number | null;
  readonly delayMs: number;
  /** JSON text, or null. */
  readonly context: string | null;
}

/** What an outcome makes of its row, besides taking the claim away. */
export interface SettledRow extends Lease {
  /** `running` stands for an abandoned job: its lease goes on. */
  readonly status: JobState;
  /** What is added to `attempts`. */
  readonly cost: 0 | 1;
  /** Due so long after now; null leaves `next_run_at` as it is. */
  readonly delayMs: number | null;
  /** The new `last_error`; null keeps the old one. */
  readonly error: string | null;
}

export function toNewRow(job: NewJob): NewRow {
  const { id, type, payload, maxRetries, delayMs } = job;
  return { id, type, payload, maxRetries, delayMs, runAt: job.runAt ?? null, context: job.context ?? null };
}

/** Whether a statement for these jobs has to bind contexts; most carry none. */
export function isAnyCarrying(jobs: readonly NewJob[]): boolean {
  return jobs.some(({ context }) => context !== undefined);
}

/** `token` is for databases that make it outside the row. */
export function toClaimedJob(row: Row, token: string = toText(row['claim_token'])): ClaimedJob {
  return {
    id: toText(row['id']),
    token,
    type: toText(row['job_type']),
    payload: toText(row['payload']),
    attempts: Number(row['attempts']),
    maxRetries: Number(row['max_retries']),
    interruptions: Number(row['interruptions']),
    createdAt: Number(row['created_at']),
    context: typeof row['context'] === 'string' ? row['context'] : undefined,
  };
}

/** @param now Where the database computes the rest of the lease itself, 0. */
export function toForeignClaims(row: Row, now = 0): ForeignClaims {
  const owner = row['claimed_by'];
  const hasAll = Number(row['without_lease']) === 0;
  return {
    owner: owner === null ? undefined : toText(owner),
    endsInMs: hasAll ? Number(row['ends']) - now : undefined,
  };
}

export function toRecoveredJob(row: Row): RecoveredJob {
  return {
    id: toText(row['id']),
    type: toText(row['job_type']),
    interruptions: Number(row['interruptions']),
    state: row['status'] === JobState.Failed ? JobState.Failed : JobState.Pending,
  };
}

/** Completed jobs have no row any more; of all others, what their rows become. */
export function toSettledRow({ id, token, outcome }: Settlement): SettledRow {
  return { id, token, ...changes(outcome) };
}

function changes(outcome: Outcome): Omit<SettledRow, keyof Lease> {
  switch (outcome.kind) {
    case 'retried':
      return { status: JobState.Pending, cost: 1, delayMs: outcome.delayMs, error: withoutNul(outcome.error) };
    case 'failed':
      return { status: JobState.Failed, cost: 1, delayMs: null, error: withoutNul(outcome.error) };
    case 'released':
      // Given back at once it keeps its place among those that wait.
      return {
        status: JobState.Pending,
        cost: 0,
        delayMs: outcome.delayMs === 0 ? null : outcome.delayMs,
        error: null,
      };
    case 'abandoned':
      return { status: JobState.Running, cost: 0, delayMs: null, error: null };
    case 'completed':
      throw new TypeError('a completed job has no row');
  }
}

/** The `last_error` of a job that was interrupted too often is this text around the number of its interruptions. */
export function interruptionError(maxInterruptions: number): readonly [before: string, after: string] {
  return [
    'the worker died or lost its lease ',
    ` time(s) while it ran this job; maxInterruptions is ${maxInterruptions}`,
  ];
}

/** Text of a column that is never null and never anything else. */
export function toText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected text from the job table, got ${typeof value}`);
  return value;
}

/** PostgreSQL refuses NUL in text. */
function withoutNul(error: string): string {
  return error.includes('\0') ? error.replaceAll('\0', '') : error;
}
