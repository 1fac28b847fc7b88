import type { OffsetAt } from './zone-offset.js';

/** The moments at which a schedule fires, epoch milliseconds. */
export interface SlotSeries {
  /** The first one after this moment; undefined where there is none in the years ahead. */
  next(after: number): number | undefined;
}

/** When a clock on a wall, which knows of no switch, shows what a cron expression asks for: moments as if the wall were in UTC. */
export interface WallSeries {
  next(after: number): number | undefined;
  /** Whether it names no hours, so that it keeps its pace through an hour that comes twice. */
  readonly isEveryHour: boolean;
}

const dayMs = 86_400_000;

/**
 * Puts the times of a wall clock onto the line of real time, once and for all: what it says of a slot does not depend on where one starts
 * to look, so that all processes see the same slots.
 *
 * - A time that a switch leaves out (02:30 when clocks go from 02:00 to 03:00) fires at the switch.
 * - A time that comes twice (02:30 when clocks go from 03:00 back to 02:00) fires the first time. A schedule that names no hours keeps its
 *   pace and fires both times.
 */
export class ZonedSlots implements SlotSeries {
  constructor(
    private readonly walls: WallSeries,
    private readonly offsetAt: OffsetAt,
  ) {}

  next(after: number): number | undefined {
    let offset = this.offsetAt(after);
    let wallAfter = after + offset;
    let from = after;
    for (;;) {
      const wall = this.walls.next(wallAfter);
      if (wall === undefined) return undefined;
      const slot = wall - offset;
      if (this.offsetAt(slot) === offset) {
        const first = this.walls.isEveryHour ? slot : this.firstPass(slot, wall);
        if (first > after) return first;
        [from, wallAfter] = [slot, wall];
        continue;
      }
      const switchAt = this.firstSwitch(from, slot, offset);
      const offsetAfter = this.offsetAt(switchAt);
      // The wall clock leapt over it.
      if (wall < switchAt + offsetAfter) return switchAt;
      // Back to where the wall clock goes on, and on from there: a moment earlier, so that its first second is seen.
      from = switchAt;
      wallAfter = switchAt + (this.walls.isEveryHour ? offsetAfter : Math.max(offset, offsetAfter)) - 1;
      offset = offsetAfter;
    }
  }

  /** When the wall clock shows this time first, which may be before a switch. */
  private firstPass(slot: number, wall: number): number {
    const before = this.offsetAt(slot - dayMs);
    const isShownBefore = wall - before < slot && this.offsetAt(wall - before) === before;
    return isShownBefore ? wall - before : slot;
  }

  /** The first moment with another offset. Two switches within a day would count as none; there are no such zones. */
  private firstSwitch(from: number, until: number, offset: number): number {
    let same = from;
    while (same + dayMs < until && this.offsetAt(same + dayMs) === offset) same += dayMs;
    let other = Math.min(same + dayMs, until);
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (this.offsetAt(middle) === offset) same = middle;
      else other = middle;
    }
    return other;
  }
}
