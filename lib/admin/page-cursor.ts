import { show } from '../model/check.js';
import { InvalidOptionError } from '../model/errors.js';
import { toJobId } from '../model/job-id.js';
import type { JobState } from '../model/job-state.js';
import { orderOf, placeOf, type JobRow, type PagePlace } from '../stores/job-queries.js';

/** A text that says where a page ended; nobody but this file looks into it. */
export function toCursor(state: JobState | undefined, last: JobRow): string {
  const { moment = '', id } = placeOf(state, last);
  const parts = [state ?? '', moment, id];
  return Buffer.from(parts.join(' ')).toString('base64url');
}

/** @throws InvalidOptionError unless the text is the `next` of a page of jobs in the same state. */
export function fromCursor(state: JobState | undefined, cursor: unknown): PagePlace {
  const [ofState, moment = '', id] = typeof cursor === 'string' ? decode(cursor) : [];
  const jobId = toJobId(id ?? '');
  const needsMoment = orderOf(state).moment !== undefined;
  if (ofState !== (state ?? '') || jobId === undefined || needsMoment !== /^\d{1,16}$/.test(moment)) {
    throw new InvalidOptionError(
      `after must be the \`next\` of an earlier page of the same state, got ${show(cursor)}; leave it out for the first page`,
    );
  }
  return { id: jobId, moment: needsMoment ? Number(moment) : undefined };
}

function decode(cursor: string): readonly string[] {
  return Buffer.from(cursor, 'base64url').toString().split(' ');
}
