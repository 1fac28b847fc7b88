import { mostCatchUps, type MisfirePolicy } from './schedule.js';
import type { SlotSeries } from './zoned-slots.js';

export interface SlotQuestion {
  readonly series: SlotSeries;
  /** All slots up to here have been decided about. */
  readonly doneUntil: number;
  readonly now: number;
  /** Since when somebody has watched; undefined where nobody has until now. */
  readonly watchedFrom: number | undefined;
  readonly misfire: MisfirePolicy;
}

export interface DueSlots {
  /** Those that get a job, oldest first. */
  readonly fire: readonly number[];
  /** With these, all slots up to here are decided about. */
  readonly doneUntil: number;
}

/**
 * Decides which slots get a job now. One that came while somebody watched is on time and does, however late the look is by a moment. One
 * that came while nobody did was missed, and the policy says what becomes of it.
 */
export function dueSlots({ series, doneUntil, now, watchedFrom, misfire }: SlotQuestion): DueSlots {
  const first = series.next(doneUntil);
  if (first === undefined || first > now) return { fire: [], doneUntil };
  const missedUntil = Math.max(watchedFrom ?? now, doneUntil);
  const missed = first > missedUntil ? [] : missedSlots(misfire, { series, from: doneUntil, until: missedUntil });
  const onTime = slotsIn({ series, from: missedUntil, until: now });
  return { fire: [...missed, ...onTime], doneUntil: onTime.at(-1) ?? Math.max(missedUntil, missed.at(-1) ?? 0) };
}

interface Span {
  readonly series: SlotSeries;
  /** Exclusive. */
  readonly from: number;
  /** Inclusive. */
  readonly until: number;
}

function missedSlots(misfire: MisfirePolicy, span: Span): readonly number[] {
  switch (misfire) {
    case 'skip':
      return [];
    case 'once':
      return newestSlot(span);
    case 'all':
      return newestSlots(span);
  }
}

function slotsIn({ series, from, until }: Span): readonly number[] {
  const slots: number[] = [];
  for (let slot = series.next(from); slot !== undefined && slot <= until; slot = series.next(slot)) slots.push(slot);
  return slots;
}

/** Without walking through all of them: after a year there may be millions. */
function newestSlot(span: Span): readonly number[] {
  const { series, until } = span;
  const isDue = (slot: number | undefined): slot is number => slot !== undefined && slot <= until;
  const windowMs = windowWith(span, 1);
  let newest = series.next(Math.max(span.from, until - windowMs));
  if (!isDue(newest)) return [];
  let after = until;
  // Slots are whole seconds.
  while (after - newest >= 1_000) {
    const middle = Math.floor((newest + after) / 2);
    const slot = series.next(middle);
    if (isDue(slot)) newest = slot;
    else after = middle;
  }
  return [newest];
}

function newestSlots(span: Span): readonly number[] {
  const from = Math.max(span.from, span.until - windowWith(span, mostCatchUps));
  return slotsIn({ ...span, from }).slice(-mostCatchUps);
}

/** How far one has to look back for so many slots, about; as far as the span goes where there are less. */
function windowWith({ series, from, until }: Span, count: number): number {
  let windowMs = 1_000;
  while (until - windowMs > from && !hasSlots({ series, from: until - windowMs, until }, count)) windowMs *= 2;
  return windowMs;
}

function hasSlots({ series, from, until }: Span, count: number): boolean {
  let slot = series.next(from);
  for (let seen = 1; seen < count && slot !== undefined && slot <= until; seen += 1) slot = series.next(slot);
  return slot !== undefined && slot <= until;
}
