import { decodePayload } from '../model/payload.js';
import { describeError } from '../model/failure.js';
import type { JobRow } from '../stores/job-queries.js';

/** A job as it stands in the database. All moments are numbers, epoch milliseconds, whatever the database. */
export interface JobRecord extends Omit<JobRow, 'payload'> {
  /** What was enqueued. Only where `payload: true` asked for it; absent for a job without a payload as well. */
  readonly payload?: unknown;
  /** Why the payload cannot be read, instead of it: somebody else wrote into the table. */
  readonly payloadError?: string;
}

export function toRecord({ payload, ...row }: JobRow): JobRecord {
  if (payload === undefined) return row;
  try {
    return { ...row, payload: decodePayload(payload) };
  } catch (error) {
    return { ...row, payloadError: describeError(error) };
  }
}
