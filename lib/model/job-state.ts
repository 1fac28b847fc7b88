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
} as const;

export type JobState = (typeof JobState)[keyof typeof JobState];

/** The states of jobs that are over. Their rows have a `finished_at` and are deleted when their retention ends. */
export const finishedStates: readonly JobState[] = [JobState.Completed, JobState.Failed];

/** What a job can become; `gone` stands for the deleted row. */
export type NextState = JobState | 'gone';

const legal: Readonly<Record<JobState, readonly NextState[]>> = {
  pending: ['running', 'gone'],
  running: ['gone', 'pending', 'completed', 'failed'],
  completed: ['gone'],
  failed: ['pending', 'gone'],
};

/** Says whether a job in state `from` may become `to`. The one table of legal transitions. */
export function mayBecome(from: JobState, to: NextState): boolean {
  return legal[from].includes(to);
}
