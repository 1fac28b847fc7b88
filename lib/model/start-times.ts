import { mostStarts, type RateLimit } from './rate-limit.js';

/** Nobody says of a job that it may start later than so long after its claim, milliseconds. */
export const longestGraceMs = 10_000;

/** A grace that is this part of the window costs next to nothing of what the limit lets through. */
const partOfWindow = 1 / 100;

/**
 * How much later than its claim a job may start, milliseconds.
 *
 * A job that comes later has used its permit for nothing, until the window has gone by. So where the window is long, the grace is too: by the
 * minute or the day, a hitch of the network takes nothing from the limit.
 *
 * @param neededMs What claims took lately, with some room.
 */
export function graceOf({ windowMs }: RateLimit, neededMs: number): number {
  return Math.floor(Math.min(longestGraceMs, Math.max(neededMs, windowMs * partOfWindow)));
}

/** What a sliding window lets through at a moment. */
export interface Permits {
  /** How many may start now. */
  readonly free: number;
  /** Milliseconds until one more may start than now; 0 while some may. */
  readonly waitMs: number;
}

/**
 * The moments at which jobs of one type were started, by the store's clock, ascending: the log of a sliding window.
 *
 * A job starts a little after its claim, and not always the same little. So what stands here is not when it was claimed but the latest
 * moment at which it may start: whoever claims it says how long that takes at the most, and does not start it later. The window is exact
 * whatever holds up a process in between.
 */
export type StartTimes = readonly number[];

/** What may start at `now`, without one window in which there are more starts than allowed. */
export function permitsAt(starts: StartTimes, { limit, windowMs }: RateLimit, now: number): Permits {
  const counted = withinWindow(starts, windowMs, now);
  const free = Math.max(0, limit - counted.length);
  if (free > 0) return { free, waitMs: 0 };
  // As many have to leave the window as are in it beyond all but one.
  const leaving = counted[counted.length - limit] ?? now;
  return { free: 0, waitMs: leaving + windowMs - now };
}

/** The log with so many more starts; what no window that ends now or later can hold is left out. */
export function withStarts(
  starts: StartTimes,
  { windowMs }: RateLimit,
  added: { readonly now: number; readonly latest: number; readonly count: number },
): StartTimes {
  const kept = withinWindow(starts, windowMs, added.now);
  const all = [...kept, ...Array.from({ length: added.count }, () => added.latest)];
  return all.toSorted((a, b) => a - b).slice(-mostStarts);
}

/** Text of a few characters a start: the first moment, then how much later each was; `*n` behind a moment stands for n starts. */
export function encodeStarts(starts: StartTimes): string {
  const parts: string[] = [];
  let before = 0;
  for (let at = 0; at < starts.length;) {
    const moment = starts[at] ?? 0;
    let end = at + 1;
    while (starts[end] === moment) end += 1;
    parts.push(end - at === 1 ? String(moment - before) : `${moment - before}*${end - at}`);
    before = moment;
    at = end;
  }
  return parts.join(' ');
}

/** @param text As `encodeStarts` made it; nothing else is ever written there. */
export function decodeStarts(text: string): StartTimes {
  const starts: number[] = [];
  let moment = 0;
  for (const part of text.split(' ')) {
    const [later, times = '1'] = part.split('*');
    if (later === undefined || later === '') continue;
    moment += Number(later);
    for (let count = Number(times); count > 0; count -= 1) starts.push(moment);
  }
  return starts;
}

/** A start is in the window that ends now while it is younger than the window is long. */
function withinWindow(starts: StartTimes, windowMs: number, now: number): StartTimes {
  // A clock that was set back must not hold up everything until it has caught up.
  return starts.filter((start) => start > now - windowMs && start <= now + longestGraceMs);
}
