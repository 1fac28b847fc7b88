import { LookAhead } from '../../../lib/runtime/look-ahead.js';

/** One that has seen `count` jobs finish within 10 ms. */
function busy(most: number, count: number): LookAhead {
  const lookAhead = new LookAhead(most, 0);
  for (let n = 0; n < count; n++) lookAhead.count();
  return lookAhead;
}

const heavy = { payload: 'x'.repeat(1_000_000) };
const light = { payload: '{}' };

describe('LookAhead', () => {
  it('wants nothing of long jobs, and as many short ones as start within a few round trips, up to its bound', () => {
    expect(busy(1_000, 0).want(10, 5)).toBe(0);
    expect(busy(1_000, 20).want(10, 5)).toBe(30);
    expect(busy(8, 20).want(10, 5)).toBe(8);
  });

  it('wants only as many large payloads as fit the memory of a small process', () => {
    const lookAhead = busy(1_000, 10_000);

    lookAhead.weigh([light, heavy, light]);

    expect(lookAhead.want(10, 5)).toBe(16);
  });

  it('forgets large payloads a few claims after the last one', () => {
    const lookAhead = busy(1_000, 1_000_000);

    lookAhead.weigh([heavy]);
    lookAhead.weigh([]);
    expect(lookAhead.want(10, 5)).toBe(16);
    for (let n = 0; n < 7; n++) lookAhead.weigh([light]);

    expect(lookAhead.want(10, 5)).toBe(1_000);
  });
});
