import type { Clock } from '../model/clock.js';
import { lineStart, longestHistory } from '../model/attempt-history.js';
import type { ClaimedJob, NewJob } from '../model/job.js';
import type { JobState } from '../model/job-state.js';
import { longestLog } from '../model/log-lines.js';
import { defaultQueue } from '../model/queue-name.js';
import type { Settlement } from '../stores/job-store.js';
import { toSettledRow } from '../stores/typeorm/job-row.js';

/** A job as it stands in a table; with the same names as there, and absent for null. */
export interface TestRow {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly queue: string;
  readonly priority: number;
  readonly uniqueKey: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly context: string | undefined;
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

export function toTestRow(job: NewJob, clock: Clock): TestRow {
  const now = clock.now();
  return {
    id: job.id,
    type: job.type,
    createdAt: now,
    queue: job.queue ?? defaultQueue,
    priority: job.priority ?? 0,
    uniqueKey: job.uniqueKey,
    timeoutMs: job.timeoutMs,
    context: job.context,
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
    runAt: job.runAt ?? now + job.delayMs,
    expiresAt: job.expiresAt ?? (job.expiresInMs === undefined ? undefined : now + job.expiresInMs),
    tags: job.tags,
  };
}

export function claimedOf(row: TestRow, token: string, now: number): ClaimedJob {
  const { id, type, payload, attempts, maxRetries, timeoutMs, interruptions, createdAt, expiresAt, tags, context } =
    row;
  const expiresInMs = expiresAt === undefined ? undefined : expiresAt - now;
  const job = { id, token, type, payload, attempts, maxRetries, timeoutMs, interruptions, createdAt };
  return { ...job, expiresInMs, tags, context };
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
