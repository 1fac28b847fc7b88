import type { OutcomeKind } from './outcome.js';

/**
 * The history of a job is text, a line for each attempt, the newest last. A store only puts a line at its end and cuts it at its
 * beginning, so that it need not be read when an outcome is stored; a line that was cut is left out when it is read.
 */

/** Characters that are kept: the last 25 attempts at least. */
export const longestHistory = 16_000;
/** Characters of an error in it, as JSON. The whole text of the last one is in `last_error`. */
const longestError = 500;

/** How an attempt ended; `interrupted`: its worker died or lost its lease. */
export type AttemptEnd = OutcomeKind | 'interrupted';

/** One attempt, as it stands in the history of its job. */
export interface AttemptRecord {
  /** 1 for the first. Attempts that cost nothing (snoozed, released, interrupted) have the number of the next one. */
  readonly attempt: number;
  /** Epoch milliseconds by the store's clock. */
  readonly endedAt: number;
  /** Milliseconds that the handler ran; absent where nobody knows. */
  readonly durationMs?: number | undefined;
  readonly outcome: AttemptEnd;
  /** The message of its error, cut; the reason of a discard or a snooze; why a result was not stored. */
  readonly error?: string | undefined;
}

/** What stands in a line before and after the moment, which the store adds by its own clock. */
export const lineStart = '{"at":';

export function encodeAttempt({ attempt, durationMs, outcome, error }: Omit<AttemptRecord, 'endedAt'>): string {
  const ms = durationMs === undefined ? undefined : Math.max(0, Math.round(durationMs));
  const text = error === undefined ? undefined : cut(error);
  return `,${JSON.stringify({ n: attempt, ms, end: outcome, error: text }).slice(1)}\n`;
}

/** Around the number of the attempt of an interrupted job, which only the store knows. */
export const interruptedLine: readonly [before: string, after: string] = [',"n":', ',"end":"interrupted"}\n'];

/** Reads a history, oldest attempt first. What somebody else has put there is left out. */
export function decodeHistory(text: string | null | undefined): readonly AttemptRecord[] {
  return (text ?? '').split('\n').flatMap((line) => decodeLine(line));
}

function decodeLine(line: string): readonly AttemptRecord[] {
  if (!line.startsWith(lineStart)) return [];
  try {
    const { at, n, ms, end, error } = JSON.parse(line) as Record<string, unknown>;
    if (typeof at !== 'number' || typeof n !== 'number' || typeof end !== 'string') return [];
    const record = { attempt: n, endedAt: at, outcome: end as AttemptEnd };
    const durationMs = typeof ms === 'number' ? { durationMs: ms } : {};
    return [{ ...record, ...durationMs, ...(typeof error === 'string' ? { error } : {}) }];
  } catch {
    return [];
  }
}

/** Escapes make text longer, so what counts is its length as JSON. */
function cut(error: string): string {
  let text = error.slice(0, longestError);
  while (JSON.stringify(text).length > longestError) text = text.slice(0, Math.floor(text.length * 0.9));
  return text.toWellFormed();
}
