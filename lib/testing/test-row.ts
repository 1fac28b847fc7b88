import type { Clock } from '../model/clock.js';
import { lineStart, longestHistory } from '../model/attempt-history.js';
import type { JobBatch } from '../model/batch.js';
import type { BatchProgress } from '../model/batch-progress.js';
import type { ClaimedJob, NewJob } from '../model/job.js';
import type { JobState } from '../model/job-state.js';
import { longestLog } from '../model/log-lines.js';
import { defaultQueue } from '../model/queue-name.js';
import type { Settlement } from '../stores/job-store.js';
import { heldMs, toSettledRow } from '../stores/typeorm/job-row.js';

/** A job as it stands in a table; with the same names as there, and absent for null. */
export interface TestRow {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly queue: string;
  readonly priority: number;
  readonly uniqueKey: string | undefined;
  readonly key: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly context: string | undefined;
  /** The batch that it follows. */
  readonly follows: JobBatch | undefined;
  /** The batch that it is a member of. */
  batchId: string | undefined;
  payload: string;
  state: JobState;
  attempts: number;
  maxRetries: number;
  interruptions: number;
  runAt: number;
  finishedAt?: number | undefined;
  keepUntil?: number | undefined;
  lastError?: string | undefined;
  claimedBy?: string | undefined;
  leaseUntil?: number | undefined;
  token?: string | undefined;
  tags?: readonly string[] | undefined;
  expiresAt?: number | undefined;
  progress?: string | undefined;
  log?: string | undefined;
  remembered?: string | undefined;
  history?: string | undefined;
  result?: string | undefined;
}

/** A batch as it stands in a table. */
export interface TestBatch {
  progress: BatchProgress;
  /** How many of its jobs had completed when it ended. */
  completed: number;
  readonly createdAt: number;
  finishedAt: number | undefined;
  isClosed: boolean;
}

export function toTestRow(job: NewJob, clock: Clock): TestRow {
  const now = clock.now();
  return {
    id: job.id,
    type: job.type,
    createdAt: now,
    queue: job.queue ?? defaultQueue,
    priority: job.priority ?? 0,
    uniqueKey: job.uniqueKey,
    key: job.key,
    timeoutMs: job.timeoutMs,
    context: job.context,
    follows: job.batch,
    batchId: job.batchId,
    attempts: 0,
    interruptions: 0,
    state: 'pending',
    ...replaceable(job, now),
  };
}

/** What a job takes over from another one that replaces it. */
export function replaceable(job: NewJob, now: number) {
  return {
    payload: job.payload,
    maxRetries: job.maxRetries,
    runAt: job.runAt ?? now + (job.delayMs ?? 0),
    expiresAt: job.expiresAt ?? (job.expiresInMs === undefined ? undefined : now + job.expiresInMs),
    tags: job.tags,
  };
}

export function claimedOf(row: TestRow, token: string, now: number): ClaimedJob {
  const { id, type, payload, attempts, maxRetries, timeoutMs, interruptions, createdAt, runAt: dueAt } = row;
  const { expiresAt, tags, context, key, batchId, follows: batch } = row;
  const expiresInMs = expiresAt === undefined ? undefined : expiresAt - now;
  const job = { id, token, type, payload, attempts, maxRetries, timeoutMs, interruptions, createdAt, dueAt };
  return { ...job, expiresInMs, tags, context, key, batchId, batch };
}

/** Its place among the jobs of its key: one that runs comes first, then those that were started before. */
export function phaseOf({ state, history }: TestRow): 0 | 1 | 2 {
  if (state === 'running') return 0;
  return history === undefined ? 2 : 1;
}

/** Lower priority first, then the older moment, then the older id. */
export function byDue(a: TestRow, b: TestRow): number {
  return a.priority - b.priority || a.runAt - b.runAt || (a.id < b.id ? -1 : 1);
}

/** A member of a batch that has completed is kept until that has ended. */
export function isHeldByBatch({ state, keepUntil = 0 }: TestRow): boolean {
  return state === 'completed' && keepUntil >= heldMs;
}

/** Takes the claim from a job. */
export function unclaim(row: TestRow): void {
  row.token = undefined;
  row.claimedBy = undefined;
  row.leaseUntil = undefined;
}

/** Says what an outcome makes of a row that stays. */
export function settleRow(row: TestRow, settlement: Settlement, now: number): void {
  const settled = toSettledRow(settlement);
  const { leaseUntil } = row;
  unclaim(row);
  if (settled.status === 'running') row.leaseUntil = leaseUntil;
  row.state = settled.status;
  row.attempts += settled.cost;
  if (settled.delayMs !== null) row.runAt = now + settled.delayMs;
  row.lastError = settled.error ?? row.lastError;
  row.finishedAt = settled.isFinished ? now : undefined;
  row.keepUntil = settled.keepMs === null ? undefined : now + settled.keepMs;
  row.result = settled.result ?? undefined;
  if (settled.line !== null) addHistory(row, settled.line, now);
  noteRow(row, { progress: settled.progress ?? undefined, log: settled.log ?? undefined });
}

export function addHistory(row: TestRow, line: string, now: number): void {
  row.history = `${row.history ?? ''}${lineStart}${now}${line}`.slice(-longestHistory);
}

export function noteRow(row: TestRow, { progress, log }: { readonly progress?: string; readonly log?: string }): void {
  row.progress = progress ?? row.progress;
  if (log !== undefined)
    row.log = Array.from(`${row.log ?? ''}${log}`)
      .slice(-longestLog)
      .join('');
}
