import fc from 'fast-check';
import { Histogram } from '../../../lib/model/histogram.js';

const filled = (values: readonly number[]): Histogram => {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  return histogram;
};

const durations = fc.array(fc.integer({ min: 0, max: 86_400_000 }), { minLength: 1, maxLength: 200 });

describe('Histogram', () => {
  it('has no quantile without a value', () => {
    expect(new Histogram().quantile(0.5)).toBeUndefined();
  });

  it('tells what takes less than a millisecond as 0, and a clock that went back too', () => {
    expect(filled([0.2, 0.9, -5, NaN]).quantile(0.99)).toBe(0);
  });

  it('is at most 19 % and a millisecond off', () => {
    fc.assert(
      fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (values, part) => {
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(sorted.length * part)) - 1] ?? 0;
        const told = filled(values).quantile(part) ?? -1;
        expect(Math.abs(told - exact)).toBeLessThanOrEqual(exact * 0.19 + 1);
      }),
    );
  });

  it('is the same after it was written, read and added up', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const sum = Histogram.parse(filled(some).toText());
        sum.merge(Histogram.parse(filled(others).toText()));
        const all = filled([...some, ...others]);
        expect(sum.total).toBe(all.total);
        for (const part of [0, 0.5, 0.95, 1]) expect(sum.quantile(part)).toBe(all.quantile(part));
      }),
    );
  });

  it.each(['', 'x', '1', '1:-2', '99:1', '1:1e99', '0.5:1', ':'])('takes %j for nothing', (text) => {
    expect(Histogram.parse(text).total).toBe(0);
  });
});
