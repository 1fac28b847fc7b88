import type { JobBatch } from '../../model/batch.js';
import type { ClaimedJob, Lease, NewJob } from '../../model/job.js';
import { endedStates, JobState } from '../../model/job-state.js';
import type { Outcome } from '../../model/outcome.js';
import type { ForeignClaims, RecoveredJob, Settlement } from '../job-store.js';

/** A row as the driver gives it: bigint columns are strings in some of them. */
export type Row = Readonly<Record<string, unknown>>;

/** What a claim reads of each row. */
export const plainColumns = [
  'id',
  'job_type',
  'payload',
  'attempts',
  'max_retries',
  'interruptions',
  'created_at',
] as const;

/** What it reads besides, though most jobs have nothing there. */
export const rareColumns = ['timeout', 'expires_at', 'tags', 'context', 'batch_id', 'follows', 'job_key'] as const;

export const claimedColumns = [...plainColumns, ...rareColumns] as const;

/** What an insert binds for one job; the database adds the moments. */
export interface NewRow {
  readonly id: string;
  readonly type: string;
  readonly payload: string;
  readonly maxRetries: number;
  readonly timeoutMs: number | null;
  /** Epoch milliseconds, or null for now + `delayMs`. */
  readonly runAt: number | null;
  readonly delayMs: number;
  /** Epoch milliseconds, or null for now + `expiresInMs`, or for never where that is null too. */
  readonly expiresAt: number | null;
  readonly expiresInMs: number | null;
  /** As JSON. */
  readonly tags: string | null;
  readonly uniqueKey: string | null;
  readonly key: string | null;
  readonly queue: string | null;
  readonly priority: number | null;
  /** JSON text, or null. */
  readonly context: string | null;
  readonly batchId: string | null;
  /** The batch that it follows, as JSON. */
  readonly follows: string | null;
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
  /** Whether it is over: it then gets its `finished_at`. */
  readonly isFinished: boolean;
  /** `keep_until` is so long after now; null where that is left to the queue. */
  readonly keepMs: number | null;
  readonly result: string | null;
  /** How far it has come; null leaves that as it is. */
  readonly progress: string | null;
  /** What is put at the end of its log; null for nothing. */
  readonly log: string | null;
  /** What goes behind the moment in a new line of the `history`; null for no line. */
  readonly line: string | null;
}

/** Stands for ever: about 158 000 years, whose sum with a moment is exact in every number type. */
const foreverMs = 5_000_000_000_000_000;
/**
 * The row of a completed member of a batch is kept for so much longer, until its batch lets go of it: so it lies in the index where nobody
 * looks who deletes what has been kept for long enough, and none of them must know of batches.
 */
export const heldMs = 4_000_000_000_000_000;
/** For ever, for those; the sum is still exact. */
const foreverHeldMs = 3_000_000_000_000_000;

export function toNewRow(job: NewJob): NewRow {
  const { id, type, payload, maxRetries, delayMs = 0 } = job;
  return {
    id,
    type,
    payload,
    maxRetries,
    delayMs,
    timeoutMs: job.timeoutMs ?? null,
    runAt: job.runAt ?? null,
    expiresAt: job.expiresAt ?? null,
    expiresInMs: job.expiresInMs ?? null,
    tags: job.tags === undefined ? null : JSON.stringify(job.tags),
    uniqueKey: job.uniqueKey ?? null,
    key: job.key ?? null,
    queue: job.queue ?? null,
    priority: job.priority ?? null,
    context: job.context ?? null,
    batchId: job.batchId ?? null,
    follows: job.batch === undefined ? null : JSON.stringify(job.batch),
  };
}

/** How databases differ in what they say of a claimed row. */
export interface ClaimFacts {
  /** For databases in which it is made outside the row. */
  readonly token: string;
  /** Epoch milliseconds of the store's clock at the claim. */
  readonly now: number;
}

export function toClaimedJob(row: Row, { token, now }: ClaimFacts): ClaimedJob {
  const { timeout, expires_at: expiresAt, tags, context, batch_id: batchId, follows, job_key: key } = row;
  return {
    id: toText(row['id']),
    token,
    type: toText(row['job_type']),
    payload: toText(row['payload']),
    attempts: Number(row['attempts']),
    maxRetries: Number(row['max_retries']),
    timeoutMs: isMissing(timeout) ? undefined : Number(timeout),
    interruptions: Number(row['interruptions']),
    createdAt: Number(row['created_at']),
    dueAt: Number(row['next_run_at']),
    expiresInMs: isMissing(expiresAt) ? undefined : Number(expiresAt) - now,
    tags: isMissing(tags) ? undefined : toTags(tags),
    context: typeof context === 'string' ? context : undefined,
    batchId: typeof batchId === 'string' ? batchId : undefined,
    batch: typeof follows === 'string' ? toBatch(follows) : undefined,
    key: typeof key === 'string' ? key : undefined,
  };
}

/** What is no batch was not written by this library, and must not keep the job from being run. */
function toBatch(text: string): JobBatch | undefined {
  try {
    const { id, total, completed, failed } = JSON.parse(text) as Row;
    return { id: toText(id), total: Number(total), completed: Number(completed), failed: Number(failed) };
  } catch {
    return undefined;
  }
}

/** Null, or left out since nothing rare was there. */
function isMissing(value: unknown): boolean {
  return value === null || value === undefined;
}

/** What is no list of strings was not written by this library, and must not keep the job from being run. */
export function toTags(text: unknown): readonly string[] | undefined {
  try {
    const tags: unknown = JSON.parse(toText(text));
    return Array.isArray(tags) && tags.every((tag) => typeof tag === 'string') ? tags : undefined;
  } catch {
    return undefined;
  }
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

/** Whether its row goes with its outcome. */
export function isGone({ outcome }: Settlement): boolean {
  return outcome.kind === 'completed' && outcome.keep === undefined;
}

/** What becomes of a row that stays. */
export function toSettledRow({ id, token, outcome, line, note }: Settlement): SettledRow {
  const row = changes(outcome);
  return {
    id,
    token,
    ...unchanged,
    ...row,
    isFinished: endedStates.some((state) => state === row.status),
    line: line ?? null,
    progress: note?.progress ?? null,
    log: note?.log ?? null,
  };
}

type Change = Omit<SettledRow, keyof Lease | 'isFinished' | 'line' | 'progress' | 'log'>;

const unchanged: Omit<Change, 'status'> = { cost: 0, delayMs: null, error: null, keepMs: null, result: null };

function changes(outcome: Outcome): Partial<Change> & Pick<Change, 'status'> {
  switch (outcome.kind) {
    case 'retried':
      return { status: JobState.Pending, cost: 1, delayMs: outcome.delayMs, error: withoutNul(outcome.error) };
    case 'failed':
      return {
        status: JobState.Failed,
        cost: 1,
        error: withoutNul(outcome.error),
        keepMs: boundedOrNull(outcome.keepMs),
      };
    case 'snoozed':
      return { status: JobState.Pending, delayMs: outcome.delayMs };
    case 'released':
      // Given back at once it keeps its place among those that wait.
      return { status: JobState.Pending, delayMs: outcome.delayMs === 0 ? null : outcome.delayMs };
    case 'expired':
      return { status: JobState.Failed, error: expiryError, keepMs: boundedOrNull(outcome.keepMs) };
    case 'abandoned':
      return { status: JobState.Running };
    case 'completed':
      if (outcome.keep === undefined) throw new TypeError('a completed job that is not kept has no row');
      return {
        status: JobState.Completed,
        keepMs: outcome.keep.isHeld === true ? heldFor(outcome.keep.keepMs) : bounded(outcome.keep.keepMs),
        result: outcome.keep.result ?? null,
      };
  }
}

/** The `last_error` of a job that could not start in time. */
const expiryError = 'expired: it could not start before its expiresAt';
/** No statement takes Infinity. */
export function bounded(keepMs: number): number {
  return Math.min(keepMs, foreverMs);
}

function boundedOrNull(keepMs: number | undefined): number | null {
  return keepMs === undefined ? null : bounded(keepMs);
}

function heldFor(keepMs: number): number {
  return heldMs + Math.min(keepMs, foreverHeldMs);
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
