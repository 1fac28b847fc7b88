import type { JobBatch } from './batch.js';
import type { EnqueueResult } from './enqueue-result.js';
import type { NewJob } from './job.js';

/** Jobs that belong together, and what follows when all of them are over. A batch has one step; a chain has several, one after the other. */
export interface NewBatch {
  /** UUID v7. */
  readonly id: string;
  /** The jobs of each step. */
  readonly steps: readonly (readonly NewJob[])[];
  readonly onComplete: NewJob | undefined;
  readonly onFailure: NewJob | undefined;
}

/** How far a batch has come. */
export interface BatchProgress extends NewBatch {
  /** So many of the steps have been entered. */
  readonly step: number;
  /** Jobs that were stored for it so far. */
  readonly stored: number;
}

/** Where a batch begins. */
export function beginBatch(batch: NewBatch): BatchProgress {
  return { ...batch, step: 0, stored: 0 };
}

/**
 * Enters one step after the other until one of them has stored a job, or none is left: what is yielded is to be stored. A job that was not
 * stored, since another one holds its key, is no member: the batch does not wait for that one.
 */
export function* enterSteps(
  from: BatchProgress,
): Generator<readonly NewJob[], BatchProgress, readonly EnqueueResult[]> {
  const { id, steps } = from;
  let { step, stored } = from;
  while (step < steps.length && stored === from.stored) {
    const jobs = steps[step] ?? [];
    step += 1;
    if (jobs.length === 0) continue;
    const results = yield jobs.map((job) => ({ ...job, batchId: id }));
    stored += results.filter(({ deduplicated }) => !deduplicated).length;
  }
  return { ...from, step, stored };
}

/** The jobs of all steps, as far as that is known: those stored, and those still to come. */
export function totalOf({ steps, step, stored }: Pick<BatchProgress, 'steps' | 'step' | 'stored'>): number {
  return steps.slice(step).reduce((sum, jobs) => sum + jobs.length, stored);
}

/** What is said of a batch whose jobs are over. */
export function summaryOf(progress: BatchProgress, completed: number): JobBatch {
  return { id: progress.id, total: totalOf(progress), completed, failed: progress.stored - completed };
}

/** The job that follows a batch whose jobs are over; it knows what it follows. */
export function followUpOf(progress: BatchProgress, completed: number): NewJob | undefined {
  const batch = summaryOf(progress, completed);
  const followUp = isCompleted(batch) ? progress.onComplete : progress.onFailure;
  return followUp === undefined ? undefined : { ...followUp, batch };
}

export function isCompleted({ completed, total }: Pick<JobBatch, 'completed' | 'total'>): boolean {
  return completed >= total;
}
