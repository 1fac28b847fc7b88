import type { BatchRecord } from '../../model/batch.js';
import {
  beginBatch,
  enterSteps,
  followUpOf,
  totalOf,
  type BatchProgress,
  type NewBatch,
} from '../../model/batch-progress.js';
import type { EnqueueResult } from '../../model/enqueue-result.js';
import type { NewJob } from '../../model/job.js';
import type { StoredBatch } from '../batch-store.js';

interface OpenBatch {
  progress: BatchProgress;
  /** Its jobs that wait or run. */
  active: number;
  completed: number;
  readonly createdAt: number;
}

export interface MemoryBatchesParts {
  /** Takes one job at once. */
  readonly add: (job: NewJob) => EnqueueResult;
  /** The time of day, epoch milliseconds. */
  readonly now: () => number;
  /** Hears of jobs that were added. */
  readonly onAdded?: ((job: NewJob) => void) | undefined;
}

/** The batches of a memory store. One process holds all of their jobs, so it can count; what has ended is forgotten. */
export class MemoryBatches {
  private readonly open = new Map<string, OpenBatch>();

  constructor(private readonly parts: MemoryBatchesParts) {}

  add(batch: NewBatch): StoredBatch {
    const entry: OpenBatch = { progress: beginBatch(batch), active: 0, completed: 0, createdAt: this.parts.now() };
    this.open.set(batch.id, entry);
    const doers = this.enter(entry);
    if (entry.active === 0) this.end(entry);
    return { jobIds: batch.steps.flat().map(({ id }) => doers.get(id) ?? id), total: totalOf(entry.progress) };
  }

  /** A job of this batch is over. */
  ended(id: string, how: 'completed' | 'failed'): void {
    const entry = this.open.get(id);
    if (entry === undefined) return;
    entry.active -= 1;
    if (how === 'completed') entry.completed += 1;
    if (entry.active > 0) return;
    if (entry.completed === entry.progress.stored) this.enter(entry);
    if (entry.active === 0) this.end(entry);
  }

  find(id: string): BatchRecord | undefined {
    const entry = this.open.get(id);
    if (entry === undefined) return undefined;
    const { progress, completed, active, createdAt } = entry;
    const failed = progress.stored - completed - active;
    return { id, state: 'open', total: totalOf(progress), completed, failed, createdAt, finishedAt: undefined };
  }

  clear(): void {
    this.open.clear();
  }

  /** Returns which job does the work of each that was to be stored. */
  private enter(entry: OpenBatch): ReadonlyMap<string, string> {
    const doers = new Map<string, string>();
    const steps = enterSteps(entry.progress);
    let turn = steps.next();
    while (turn.done !== true) {
      const results = turn.value.map((job) => this.store(job));
      for (const [index, { id }] of turn.value.entries()) doers.set(id, results[index]?.id ?? id);
      turn = steps.next(results);
    }
    entry.active = turn.value.stored - entry.progress.stored;
    entry.progress = turn.value;
    return doers;
  }

  private end({ progress, completed }: OpenBatch): void {
    this.open.delete(progress.id);
    const followUp = followUpOf(progress, completed);
    if (followUp !== undefined) this.store(followUp);
  }

  private store(job: NewJob): EnqueueResult {
    const result = this.parts.add(job);
    if (result.outcome === 'stored') this.parts.onAdded?.(job);
    return result;
  }
}
