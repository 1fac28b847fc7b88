import { capTypes, takeOne } from '../../../lib/runtime/type-caps.js';

describe('capTypes', () => {
  const limits = new Map([
    ['a', 2],
    ['b', 1],
  ]);

  it('says how many more of each type with a limit may be claimed', () => {
    const { types, caps } = capTypes(['a', 'b', 'c'], { limits, limited: [] }, () => ['a', 'c', 'c']);

    expect(types).toEqual(['a', 'b', 'c']);
    expect({ ...caps }).toEqual({ a: 1, b: 1 });
  });

  it('leaves out a type whose limit is reached', () => {
    const { types, caps } = capTypes(['a', 'b'], { limits, limited: [] }, () => ['b', 'b', 'a']);

    expect(types).toEqual(['a']);
    expect({ ...caps }).toEqual({ a: 1 });
  });

  it('keeps any type any type', () => {
    expect(capTypes(undefined, { limits, limited: [] }, () => ['b']).types).toBeUndefined();
  });

  it('does not even look where there is no limit', () => {
    const looked: string[] = [];
    const capped = capTypes(['a'], { limits: new Map(), limited: [] }, () => {
      looked.push('looked');
      return [];
    });

    expect(capped).toEqual({ types: ['a'], caps: undefined });
    expect(looked).toEqual([]);
  });

  it('leaves out types with limits of the fleet, and says nothing of the others', () => {
    const limited = [{ type: 'a', globalConcurrency: 3 }];

    expect(capTypes(['a', 'c'], { limits, limited }, () => [])).toEqual({ types: ['c'], caps: undefined });
    expect({ ...capTypes(undefined, { limits, limited }, () => []).caps }).toEqual({ a: 0, b: 1 });
  });

  it('counts down as jobs come in', () => {
    const { caps } = capTypes(undefined, { limits, limited: [] }, () => ['a']);

    expect([takeOne(caps, 'a'), takeOne(caps, 'a'), takeOne(caps, 'c')]).toEqual([true, false, true]);
    expect(takeOne(undefined, 'a')).toBe(true);
  });
});
