import { encodeResult } from '../../../lib/model/result.js';

describe('encodeResult', () => {
  it.each([
    [{ a: [1, null, 'x'] }, '{"a":[1,null,"x"]}'],
    [null, 'null'],
    ['', '""'],
    [false, 'false'],
    ['x'.repeat(65_534), `"${'x'.repeat(65_534)}"`],
  ])('takes %j', (value, text) => {
    expect(encodeResult(value)).toEqual({ text });
  });

  it('has nothing to store of nothing', () => {
    expect(encodeResult(undefined)).toEqual({});
  });

  it.each<[string, unknown, RegExp]>([
    ['a date', { sent: { at: new Date() } }, /^result\.sent\.at is a Date: .* by toISOString\(\)/],
    ['a function', () => 1, /^result is a function/],
    ['NaN', [Number.NaN], /^result\[0\] is NaN/],
    ['too much', 'ü'.repeat(40_000), /^the result has 80002 bytes as JSON and 65536 are allowed; return a key instead/],
    [
      'a hostile object',
      {
        get x(): never {
          throw new Error('no');
        },
      },
      /^result: no/,
    ],
  ])('refuses %s by its path, and never throws', (_what, value, message) => {
    expect(encodeResult(value)).toEqual({ refusal: expect.stringMatching(message) });
  });

  it('refuses a cycle', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;

    expect(encodeResult(cycle).refusal).toMatch(/^result\.self is a reference to an object around it/);
  });
});
