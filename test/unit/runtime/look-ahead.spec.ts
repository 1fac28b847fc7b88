import { LookAhead } from '../../../lib/runtime/look-ahead.js';

/** One that has seen `count` jobs finish within 10 ms. */
function busy(most: number, count: number): LookAhead {
  const lookAhead = new LookAhead(most, 0);
  for (let n = 0; n < count; n++) lookAhead.count();
  return lookAhead;
}

describe('LookAhead', () => {
  it('wants nothing of long jobs, and as many short ones as start within a few round trips, up to its bound', () => {
    expect(busy(1_000, 0).want(10, 5)).toBe(0);
    expect(busy(1_000, 20).want(10, 5)).toBe(30);
    expect(busy(8, 20).want(10, 5)).toBe(8);
  });
});
