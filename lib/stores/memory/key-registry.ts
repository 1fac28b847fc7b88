import type { NewJob } from '../../model/job.js';
import { scopedKey } from '../../model/unique-key.js';

/** What a queue holds in the place of a job, as far as keys are concerned. */
export interface KeyedEntry {
  readonly job: NewJob;
}

/** Who holds a key: an entry that waits, or a job that runs. */
export interface KeyHolder<E extends KeyedEntry> {
  readonly id: string;
  /** `undefined` while the job runs. */
  readonly entry: E | undefined;
}

/** The unique keys of the jobs that wait or run. */
export class KeyRegistry<E extends KeyedEntry> {
  private readonly holders = new Map<string, KeyHolder<E>>();

  holderOf(job: NewJob): KeyHolder<E> | undefined {
    return job.uniqueKey === undefined ? undefined : this.holders.get(nameOf(job, job.uniqueKey));
  }

  waits(entry: E): void {
    const { job } = entry;
    if (job.uniqueKey !== undefined) this.holders.set(nameOf(job, job.uniqueKey), { id: job.id, entry });
  }

  runs(job: NewJob): void {
    if (job.uniqueKey !== undefined) {
      this.holders.set(nameOf(job, job.uniqueKey), { id: job.id, entry: undefined });
    }
  }

  release(job: NewJob): void {
    if (job.uniqueKey !== undefined) this.holders.delete(nameOf(job, job.uniqueKey));
  }

  /** Forgets the keys of all jobs that wait. */
  releaseWaiting(): void {
    for (const [name, { entry }] of this.holders) if (entry !== undefined) this.holders.delete(name);
  }
}

function nameOf({ type }: NewJob, key: string): string {
  return scopedKey(type, key);
}
