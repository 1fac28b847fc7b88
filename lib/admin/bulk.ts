import type { JobState } from '../model/job-state.js';
import { placeOf, type ChangedJob, type JobFilter, type JobQueries, type PagePlace } from '../stores/job-queries.js';

/** What came of a bulk action. */
export interface BulkResult {
  /** Jobs that were changed. */
  readonly done: number;
  /** Jobs that were found and then left alone, since somebody else had changed them meanwhile. */
  readonly skipped: number;
  /** `false`: the limit was reached and there may be more. */
  readonly isComplete: boolean;
}

export interface BulkAction<S extends JobState> {
  readonly filter: JobFilter;
  /** The states to go through, one after the other. */
  readonly states: readonly S[];
  /** The most jobs to change. */
  readonly limit: number;
  /** @param page How many pages were changed before this one. */
  readonly change: (ids: readonly string[], state: S, page: number) => Promise<readonly ChangedJob[]>;
  /** How many are changed at once: 1 to 500. Default 500. */
  readonly chunk?: number | undefined;
}

/** Few enough that no statement holds its locks, or the event loop, for long. */
export const largestChunk = 500;

/**
 * Goes through all jobs of a filter in pages and changes each page by its ids, guarded by the state that they were found in. Two at
 * once share the work; a job that has changed in between is passed over.
 */
export async function runBulk<S extends JobState>(queries: JobQueries, action: BulkAction<S>): Promise<BulkResult> {
  let done = 0;
  let skipped = 0;
  let pages = 0;
  for (const state of action.states) {
    let after: PagePlace | undefined;
    for (;;) {
      if (done >= action.limit) return { done, skipped, isComplete: false };
      const limit = Math.min(action.chunk ?? largestChunk, action.limit - done);
      const filter = { ...action.filter, state };
      const page = await queries.list({ filter, limit, after, payload: 'without payload' });
      const ids = page.map(({ id }) => id);
      const changed = ids.length === 0 ? [] : await action.change(ids, state, pages);
      pages += 1;
      done += changed.length;
      skipped += page.length - changed.length;
      const last = page.at(-1);
      if (last === undefined || page.length < limit) break;
      after = placeOf(state, last);
    }
  }
  return { done, skipped, isComplete: true };
}
