import fc from 'fast-check';
import { dueSlots, type SlotQuestion } from '../../../lib/model/due-slots.js';
import { mostCatchUps, type MisfirePolicy } from '../../../lib/model/schedule.js';
import type { SlotSeries } from '../../../lib/model/zoned-slots.js';

const second = 1_000;
const year = 365 * 86_400_000;

/** A slot every so many milliseconds. */
function every(ms: number): SlotSeries & { asked: number } {
  const series = {
    asked: 0,
    next: (after: number) => {
      series.asked += 1;
      return (Math.floor(after / ms) + 1) * ms;
    },
  };
  return series;
}

function ask(question: Partial<SlotQuestion>) {
  return dueSlots({
    series: every(2 * second),
    doneUntil: 100_000,
    now: 107_500,
    watchedFrom: undefined,
    misfire: 'once',
    ...question,
  });
}

describe('the slots that are due', () => {
  it('are none before the next one comes', () => {
    expect(ask({ now: 101_999 })).toEqual({ fire: [], doneUntil: 100_000 });
  });

  it('are all that came while somebody watched, whatever the policy', () => {
    for (const misfire of ['skip', 'once', 'all'] as const) {
      expect(ask({ misfire, watchedFrom: 101_990, now: 104_010 }).fire).toEqual([102_000, 104_000]);
    }
  });

  it.each<[MisfirePolicy, readonly number[], number]>([
    ['skip', [], 107_500],
    ['once', [106_000], 107_500],
    ['all', [102_000, 104_000, 106_000], 107_500],
  ])("are of those that came while nobody watched, with '%s': %j", (misfire, fire, doneUntil) => {
    expect(ask({ misfire })).toEqual({ fire, doneUntil });
  });

  it('are those missed, and after them those on time', () => {
    expect(ask({ misfire: 'once', watchedFrom: 104_500 })).toEqual({ fire: [104_000, 106_000], doneUntil: 106_000 });
    expect(ask({ misfire: 'skip', watchedFrom: 104_500 })).toEqual({ fire: [106_000], doneUntil: 106_000 });
  });

  it('are found after years without walking through all of them', () => {
    const series = every(second);

    expect(ask({ series, now: 100_500 + year }).fire).toEqual([100_000 + year]);
    expect(series.asked).toBeLessThan(50);
  });

  it(`are with 'all' the newest ${mostCatchUps}`, () => {
    const series = every(second);
    const { fire } = ask({ series, misfire: 'all', now: 100_500 + year });

    expect(fire).toHaveLength(mostCatchUps);
    expect(fire.at(-1)).toBe(100_000 + year);
    expect(fire[0]).toBe(101_000 + year - mostCatchUps * second);
    expect(series.asked).toBeLessThan(1_000);
  });

  it('are never one twice, never early, and leave none behind, whatever is asked when', () => {
    const moment = fc.integer({ min: 0, max: 500_000 });
    fc.assert(
      fc.property(
        fc.constantFrom('skip', 'once', 'all' as const),
        fc.constantFrom(second, 2 * second, 60 * second),
        fc.array(fc.tuple(moment, fc.boolean()), { minLength: 1, maxLength: 20 }),
        (misfire, ms, looks) => {
          const fired: number[] = [];
          let doneUntil = 0;
          let watchedFrom: number | undefined;
          for (const [now, isWatching] of looks.toSorted(([a], [b]) => a - b)) {
            const due = dueSlots({
              series: every(ms),
              doneUntil,
              now,
              watchedFrom: isWatching ? watchedFrom : undefined,
              misfire: misfire as MisfirePolicy,
            });
            fired.push(...due.fire);
            expect(due.fire.every((slot) => slot > doneUntil && slot <= now)).toBe(true);
            expect(every(ms).next(due.doneUntil)).toBeGreaterThan(now);
            doneUntil = due.doneUntil;
            watchedFrom = now;
          }
          expect(fired).toEqual([...new Set(fired)].toSorted((a, b) => a - b));
        },
      ),
    );
  });
});
