import { describeError } from '../model/failure.js';
import { decodePayload } from '../model/payload.js';
import type { JobRow } from '../stores/job-queries.js';

/** A job as it stands in the database. All moments are numbers, epoch milliseconds, whatever the database. */
export interface JobRecord extends Omit<JobRow, 'payload' | 'result'> {
  /** What was enqueued. Only where `payload: true` asked for it; absent for a job without a payload as well. */
  readonly payload?: unknown;
  /** Why the payload cannot be read, instead of it: somebody else wrote into the table. */
  readonly payloadError?: string;
  /** What the handler of a completed job returned, where its row is kept. Only where `payload: true` asked for it. */
  readonly result?: unknown;
}

export function toRecord({ payload, result, ...row }: JobRow): JobRecord {
  return { ...row, ...readPayload(payload), ...readResult(result) };
}

function readPayload(payload: string | undefined): Pick<JobRecord, 'payload' | 'payloadError'> {
  if (payload === undefined) return {};
  try {
    return { payload: decodePayload(payload) };
  } catch (error) {
    return { payloadError: describeError(error) };
  }
}

/** What cannot be read was not written by this library. */
function readResult(result: string | undefined): Pick<JobRecord, 'result'> {
  if (result === undefined) return {};
  try {
    return { result: decodePayload(result) };
  } catch {
    return {};
  }
}
