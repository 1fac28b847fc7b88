import type { NewJob } from '../model/job.js';
import { withDeadline } from '../runtime/deadline.js';
import type { JobStore } from '../stores/job-store.js';

interface Waiting {
  readonly job: NewJob;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A connection that went silent must not hold up those behind it. */
const answerMs = 30_000;
const mostRows = 1_000;
/** Characters of payload in one statement; a larger job travels alone. */
const mostCharacters = 1_000_000;

/**
 * Group commit: inserts that are asked for while one is on its way share the next statement. Nobody waits for company:
 * an insert that finds the way free leaves at once. Each promise resolves when its own statement has committed.
 */
export class InsertBatcher {
  private waiting: Waiting[] = [];
  private isBusy = false;

  constructor(private readonly store: Pick<JobStore, 'insert'>) {}

  /** Stores one job. @throws what the store throws */
  insert(job: NewJob): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      if (!this.isBusy) void this.flush();
    });
  }

  private async flush(): Promise<void> {
    this.isBusy = true;
    while (this.waiting.length > 0) {
      const batch = this.take();
      try {
        await withDeadline(this.store.insert(batch.map(({ job }) => job)), answerMs);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isBusy = false;
  }

  private take(): Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { job } of this.waiting) {
      characters += job.payload.length + (job.context?.length ?? 0);
      if (count > 0 && (count >= mostRows || characters > mostCharacters)) break;
      count += 1;
    }
    if (count === this.waiting.length) {
      const all = this.waiting;
      this.waiting = [];
      return all;
    }
    return this.waiting.splice(0, count);
  }
}
