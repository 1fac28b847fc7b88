import type { BatchRecord } from '../../../model/batch.js';
import { isCompleted, type BatchProgress, type NewBatch } from '../../../model/batch-progress.js';
import { StoreError } from '../../../model/errors.js';
import type { NewJob } from '../../../model/job.js';
import { toText, type Row } from '../job-row.js';

/** What is bound for a batch that is stored. */
export interface BatchTexts {
  readonly steps: string | null;
  readonly onComplete: string | null;
  readonly onFailure: string | null;
}

/** @param steps Those that have not been entered. */
export function toTexts({ onComplete, onFailure }: NewBatch, steps: NewBatch['steps']): BatchTexts {
  return {
    steps: steps.length === 0 ? null : JSON.stringify(steps),
    onComplete: onComplete === undefined ? null : JSON.stringify(onComplete),
    onFailure: onFailure === undefined ? null : JSON.stringify(onFailure),
  };
}

/** @throws StoreError where somebody else has changed the row. */
export function toProgress(row: Row): BatchProgress {
  const id = toText(row['id']);
  const steps = parse(id, row['steps']) ?? [];
  if (!isListOf(steps, (step) => isListOf(step, isJob))) throw broken(id);
  return {
    id,
    steps: steps as NewBatch['steps'],
    step: Number(row['step']),
    stored: Number(row['stored']),
    onComplete: jobOf(id, row['on_complete']),
    onFailure: jobOf(id, row['on_failure']),
  };
}

export function toBatchRecord(row: Row): BatchRecord {
  const [total, stored] = [Number(row['total']), Number(row['stored'])];
  const isOver = row['finished_at'] !== null;
  const completed = Number(isOver ? row['completed'] : row['completed_now']);
  const active = isOver ? 0 : Number(row['active_now']);
  const state = isOver ? (isCompleted({ total, completed }) ? 'completed' : 'failed') : 'open';
  return {
    id: toText(row['id']),
    state,
    total,
    completed,
    failed: Math.max(0, stored - completed - active),
    createdAt: Number(row['created_at']),
    finishedAt: isOver ? Number(row['finished_at']) : undefined,
  };
}

function jobOf(id: string, text: unknown): NewJob | undefined {
  const job = parse(id, text);
  if (job === undefined) return undefined;
  if (!isJob(job)) throw broken(id);
  return job;
}

function parse(id: string, text: unknown): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(toText(text));
  } catch {
    throw broken(id);
  }
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isOne);
}

function isJob(value: unknown): value is NewJob {
  if (typeof value !== 'object' || value === null) return false;
  const { id, type, payload } = value as Partial<Record<keyof NewJob, unknown>>;
  return [id, type, payload].every((text) => typeof text === 'string');
}

function broken(id: string): StoreError {
  return new StoreError(`the row of batch ${id} was changed by somebody else: what follows it cannot be read`);
}
