import type { ClaimedJob } from '../../../model/job.js';
import { toClaimedJob, toText, type Row } from '../job-row.js';

/** A row that a claim has answered with. What is rare brings the moment of the claim along. */
export function claimedJob(row: Row): ClaimedJob {
  const token = toText(row['claim_token']);
  if (row['rare'] === null) return toClaimedJob(row, { token, now: 0 });
  const { now, ...rare } = JSON.parse(toText(row['rare'])) as Row;
  return toClaimedJob({ ...row, ...rare }, { token, now: Number(now) });
}
