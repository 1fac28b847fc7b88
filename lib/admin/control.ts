import type { ControlResult } from '../model/control-result.js';
import { toJobId } from '../model/job-id.js';
import type { JobState } from '../model/job-state.js';
import type { ChangedJob, JobQueries } from '../stores/job-queries.js';

/** How often a wish is tried again whose job changes its state all the time. */
const mostTries = 3;

/** One step on one job. */
export interface Control {
  readonly id: string;
  /** States in which it can be made. */
  readonly from: readonly JobState[];
  readonly change: (queries: JobQueries, jobId: string) => Promise<readonly ChangedJob[]>;
}

/** Makes the step. What changed nothing looks for the reason; a job that has just come into a right state again gets another try. */
export async function runControl(
  getQueries: () => Promise<JobQueries>,
  { id, from, change }: Control,
): Promise<ControlResult> {
  const jobId = toJobId(id);
  if (jobId === undefined) return { result: 'notFound' };
  const queries = await getQueries();
  for (let tries = 1; ; tries += 1) {
    const [changed] = await change(queries, jobId);
    if (changed !== undefined) return { result: 'done', from: changed.from };
    const row = await queries.find(jobId, 'without payload');
    if (row === undefined) return { result: 'notFound' };
    if (tries === mostTries || !from.includes(row.state)) return { result: 'wrongState', state: row.state };
  }
}
