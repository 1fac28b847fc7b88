import type { JobState } from './job-state.js';

/** What came of a wish to control one job. A race is no error: somebody else was there first. */
export type ControlResult =
  /** It is done; `from` is the state that the job was in. */
  | { readonly result: 'done'; readonly from: JobState }
  /** There is no such job, or none any more. */
  | { readonly result: 'notFound' }
  /** Nothing was changed: a job in this state does not allow it. */
  | { readonly result: 'wrongState'; readonly state: JobState }
  /** A retry only: another job of its type holds its unique key by now. */
  | { readonly result: 'keyTaken'; readonly state: JobState };
