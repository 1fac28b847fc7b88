/**
 * The states of a job as they stand in the `status` column.
 *
 * "Scheduled" and "retrying" are no states of their own: a pending job whose due time lies ahead is
 * one or the other, by its attempts, so nothing has to move jobs between waiting states. A completed
 * job has no row any more, unless `retention` keeps it.
 */
export const JobState = {
  Pending: 'pending',
  Running: 'running',
  Completed: 'completed',
  Failed: 'failed',
  Cancelled: 'cancelled',
} as const;

export type JobState = (typeof JobState)[keyof typeof JobState];

/** The states in which a job is over and its row is kept. It has a `finished_at`, and goes when its retention ends. */
export type EndedState = Extract<JobState, 'completed' | 'failed' | 'cancelled'>;

export const endedStates: readonly EndedState[] = [JobState.Completed, JobState.Failed, JobState.Cancelled];

/** What a job can become; `gone` stands for the deleted row. */
export type NextState = JobState | 'gone';

const legal: Readonly<Record<JobState, readonly NextState[]>> = {
  pending: ['running', 'cancelled', 'gone'],
  running: ['gone', 'pending', 'completed', 'failed', 'cancelled'],
  completed: ['gone'],
  failed: ['pending', 'gone'],
  cancelled: ['pending', 'gone'],
};

/** Says whether a job in state `from` may become `to`. The one table of legal transitions. */
export function mayBecome(from: JobState, to: NextState): boolean {
  return legal[from].includes(to);
}

/** What somebody from outside may do to a job, and in which of its states. A running job ends by itself or is cancelled. */
export const controllable = {
  cancel: [JobState.Pending, JobState.Running],
  retry: [JobState.Failed, JobState.Cancelled],
  delete: [JobState.Pending, JobState.Completed, JobState.Failed, JobState.Cancelled],
  edit: [JobState.Pending],
} as const satisfies Record<string, readonly JobState[]>;
