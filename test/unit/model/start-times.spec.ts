import fc from 'fast-check';
import { decodeStarts, encodeStarts, graceOf, permitsAt, withStarts } from '../../../lib/model/start-times.js';

const twoInTen = { limit: 2, windowMs: 10 };

describe('permitsAt', () => {
  it('lets as many start at once as a window holds', () => {
    expect(permitsAt([], twoInTen, 100)).toEqual({ free: 2, waitMs: 0 });
    expect(permitsAt([95], twoInTen, 100)).toEqual({ free: 1, waitMs: 0 });
  });

  it('waits until the oldest start of a full window has left it', () => {
    expect(permitsAt([93, 97], twoInTen, 100)).toEqual({ free: 0, waitMs: 3 });
    expect(permitsAt([93, 97], twoInTen, 103)).toEqual({ free: 1, waitMs: 0 });
  });

  it('waits for all that are too many where the limit was lowered', () => {
    expect(permitsAt([94, 95, 97, 98], twoInTen, 100)).toEqual({ free: 0, waitMs: 7 });
  });

  it('does not wait for a clock that was set back', () => {
    expect(permitsAt([50_000, 50_001], twoInTen, 100)).toEqual({ free: 2, waitMs: 0 });
  });
});

describe('the log of starts', () => {
  it('comes back from its text as it was', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 200 }), (numbers) => {
        const starts = numbers.map((number) => 1_764_547_200_000 + number).toSorted((a, b) => a - b);
        expect(decodeStarts(encodeStarts(starts))).toEqual(starts);
      }),
    );
  });

  it('takes a few characters a start', () => {
    const starts = Array.from({ length: 1_000 }, (_, index) => 1_764_547_200_000 + index * 37);

    expect(encodeStarts(starts).length).toBeLessThan(3_100);
    expect(encodeStarts(Array.from({ length: 1_000 }, () => 5))).toBe('5*1000');
  });
});

/** One look for permits: how long after the one before, how many are wanted, how late each may start and how late it does. */
const look = fc.record({
  pause: fc.nat({ max: 30 }),
  wanted: fc.integer({ min: 1, max: 5 }),
  grace: fc.nat({ max: 20 }),
  late: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
});
const limits = fc.record({ limit: fc.integer({ min: 1, max: 4 }), windowMs: fc.integer({ min: 1, max: 40 }) });

describe('a sliding window', () => {
  it('never has more starts in it than allowed, wherever it begins and however late each job starts within its grace', () => {
    fc.assert(
      fc.property(limits, fc.array(look, { maxLength: 40 }), (limit, looks) => {
        const begun = startsOf(limit, looks);
        for (const start of begun) {
          const within = begun.filter((other) => other >= start && other < start + limit.windowMs);
          expect(within.length).toBeLessThanOrEqual(limit.limit);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('lets a job start as soon as it says, and not sooner', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.nat({ max: 60 }), { maxLength: 20 }), (limit, ages) => {
        const now = 1_000;
        const starts = ages.map((age) => now - age).toSorted((a, b) => a - b);
        const { free, waitMs } = permitsAt(starts, limit, now);
        if (free > 0) return;
        expect(permitsAt(starts, limit, now + waitMs).free).toBeGreaterThan(0);
        expect(permitsAt(starts, limit, now + waitMs - 1).free).toBe(0);
      }),
    );
  });
});

describe('graceOf', () => {
  it.each([
    ['what claims need, where a window is short', 1_000, 85.5, 85],
    ['a hundredth of a window that is longer', 60_000, 85.5, 600],
    ['ten seconds at the most, for a window of a day', 86_400_000, 85.5, 10_000],
    ['ten seconds at the most, whatever claims need', 1_000, 30_000, 10_000],
  ])('is %s', (_what, windowMs, neededMs, graceMs) => {
    expect(graceOf({ limit: 1, windowMs }, neededMs)).toBe(graceMs);
  });
});

type Look = typeof look extends fc.Arbitrary<infer L> ? L : never;

/** When jobs would begin if they were claimed like this. */
function startsOf(limit: { readonly limit: number; readonly windowMs: number }, looks: readonly Look[]): number[] {
  let starts: readonly number[] = [];
  let now = 0;
  const begun: number[] = [];
  for (const { pause, wanted, grace, late } of looks) {
    now += pause;
    const count = Math.min(wanted, permitsAt(starts, limit, now).free);
    starts = withStarts(starts, limit, { now, latest: now + grace, count });
    for (let index = 0; index < count; index += 1) begun.push(now + Math.floor((late[index] ?? 0) * grace));
  }
  return begun;
}
