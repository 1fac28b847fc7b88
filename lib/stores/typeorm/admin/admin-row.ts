import { JobState } from '../../../model/job-state.js';
import type { ClaimCount, DueJob, JobRow } from '../../job-queries.js';
import { decodeProgress } from '../../../model/job-progress.js';
import { decodeLog } from '../../../model/log-lines.js';
import { decodeHistory } from '../../../model/attempt-history.js';
import { toTags, toText, type Row } from '../job-row.js';

/** A state that a later version wrote into the table is none that this one could answer with. */
export function toState(value: unknown): JobState {
  const state = Object.values(JobState).find((known) => known === value);
  if (state === undefined) throw new TypeError(`unknown state in the job table: ${String(value)}`);
  return state;
}

export function toJobRow(row: Row): JobRow {
  return {
    id: toText(row['id']),
    type: toText(row['job_type']),
    state: toState(row['status']),
    attempts: Number(row['attempts']),
    maxRetries: Number(row['max_retries']),
    interruptions: Number(row['interruptions']),
    runAt: Number(row['next_run_at']),
    createdAt: Number(row['created_at']),
    finishedAt: numberOf(row['finished_at']),
    lastError: textOf(row['last_error']),
    claimedBy: textOf(row['claimed_by']),
    leaseUntil: numberOf(row['lease_until']),
    queue: toText(row['queue']),
    priority: Number(row['priority']),
    uniqueKey: textOf(row['unique_key']),
    key: row['job_key'] === row['id'] ? undefined : textOf(row['job_key']),
    tags: row['tags'] === null ? undefined : toTags(row['tags']),
    expiresAt: numberOf(row['expires_at']),
    timeout: numberOf(row['timeout']),
    progress: decodeProgress(textOf(row['progress'])),
    batchId: textOf(row['batch_id']),
    payload: textOf(row['payload']),
    ...('result' in row ? { result: textOf(row['result']) } : {}),
    ...('log' in row ? { log: decodeLog(textOf(row['log'])) } : {}),
    ...('history' in row ? { history: decodeHistory(textOf(row['history'])) } : {}),
  };
}

export function toDueJob(row: Row): DueJob {
  return {
    id: toText(row['id']),
    type: toText(row['job_type']),
    runAt: Number(row['next_run_at']),
    waitingMs: Number(row['waiting']),
  };
}

export function toClaimCount(row: Row): ClaimCount {
  return {
    owner: toText(row['claimed_by']),
    type: toText(row['job_type']),
    count: Number(row['jobs']),
    endsInMs: Number(row['ends'] ?? 0),
  };
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

function textOf(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : toText(value);
}
