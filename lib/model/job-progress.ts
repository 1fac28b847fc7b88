import { checkNumber, show } from './check.js';
import { InvalidOptionError } from './errors.js';

/** Characters of a note that are kept. */
const longestNote = 500;

/** How far a job has come, as its handler said last. */
export interface JobProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly note?: string | undefined;
  /** Epoch milliseconds by the clock of the process that ran it. */
  readonly at: number;
  /** The attempt that said so: 1 for the first. */
  readonly attempt: number;
}

/** What a handler says of its progress, checked. A long note is cut. @throws InvalidOptionError */
export function checkProgress(fraction: unknown, note: unknown): Pick<JobProgress, 'fraction' | 'note'> {
  const checked = checkNumber('the fraction of job.progress', fraction, 0, 1);
  if (note === undefined) return { fraction: checked };
  if (typeof note !== 'string')
    throw new InvalidOptionError(`the note of job.progress must be a text, got ${show(note)}`);
  return { fraction: checked, note: note.slice(0, longestNote).toWellFormed() };
}

/** As it stands in the row: JSON, so that every database stores it alike. */
export function encodeProgress({ fraction, note, at, attempt }: JobProgress): string {
  return JSON.stringify({ fraction, note, at, attempt });
}

/** What cannot be read was not written by this library. */
export function decodeProgress(text: string | null | undefined): JobProgress | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    const { fraction, note, at, attempt } = JSON.parse(text) as Record<string, unknown>;
    if (typeof fraction !== 'number' || typeof at !== 'number' || typeof attempt !== 'number') return undefined;
    return { fraction, ...(typeof note === 'string' ? { note } : {}), at, attempt };
  } catch {
    return undefined;
  }
}
