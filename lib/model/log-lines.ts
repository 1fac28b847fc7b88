import { show } from './check.js';
import { InvalidOptionError } from './errors.js';

/**
 * The log of a job is text, a line of JSON for each line, the newest last. A store only puts lines at its end and cuts it at its beginning,
 * as it does with the history, so that it need not be read to be written.
 */

/** Characters that are kept, with what stands around each line. */
export const longestLog = 32_000;
/** Lines that are shown. */
export const mostLogLines = 500;
/** Characters of one line. */
const longestLine = 1_000;

/** One line that a handler has logged. */
export interface JobLogLine {
  /** Epoch milliseconds by the clock of the process that ran it. */
  readonly at: number;
  /** The attempt that logged it: 1 for the first. */
  readonly attempt: number;
  readonly text: string;
}

/** What a handler has logged in all attempts of a job, oldest line first. */
export interface JobLog {
  readonly lines: readonly JobLogLine[];
  /** `true`: older lines were dropped. */
  readonly isCut: boolean;
}

/** A line, cut where it is long. @throws InvalidOptionError unless it is a text. */
export function checkLogLine(line: unknown): string {
  if (typeof line !== 'string') throw new InvalidOptionError(`job.log takes a text, got ${show(line)}`);
  return line.length <= longestLine ? line.toWellFormed() : `${line.slice(0, longestLine - 1).toWellFormed()}…`;
}

/** @param place Its number among the lines of its attempt: with it a line that was sent twice is told from two that are alike. */
export function encodeLogLine({ at, attempt, text }: JobLogLine, place: number): string {
  return `${JSON.stringify({ at, n: attempt, i: place, text })}\n`;
}

/** Reads a log. What somebody else has put there is left out, and so is a line that was cut. */
export function decodeLog(stored: string | null | undefined): JobLog | undefined {
  if (stored === null || stored === undefined || stored === '') return undefined;
  const seen = new Set<string>();
  const lines = stored.split('\n').flatMap((line) => decodeLine(line, seen));
  // Databases count characters, not halves of them. Each cut leaves just as many as may be.
  const isCut = Array.from(stored).length >= longestLog || lines.length > mostLogLines;
  return { lines: lines.slice(-mostLogLines), isCut };
}

function decodeLine(line: string, seen: Set<string>): readonly JobLogLine[] {
  try {
    const { at, n, i, text } = JSON.parse(line) as Record<string, unknown>;
    if (typeof at !== 'number' || typeof n !== 'number' || typeof text !== 'string') return [];
    const key = `${at} ${n} ${String(i)}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return [{ at, attempt: n, text }];
  } catch {
    return [];
  }
}
