import { capTypes, takeOne } from '../../../lib/runtime/type-caps.js';

describe('capTypes', () => {
  const limits = new Map([
    ['a', 2],
    ['b', 1],
  ]);

  it('says how many more of each type with a limit may be claimed', () => {
    const { types, caps } = capTypes(['a', 'b', 'c'], limits, () => ['a', 'c', 'c']);

    expect(types).toEqual(['a', 'b', 'c']);
    expect({ ...caps }).toEqual({ a: 1, b: 1 });
  });

  it('leaves out a type whose limit is reached', () => {
    const { types, caps } = capTypes(['a', 'b'], limits, () => ['b', 'b', 'a']);

    expect(types).toEqual(['a']);
    expect({ ...caps }).toEqual({ a: 1, b: 0 });
  });

  it('keeps any type any type', () => {
    expect(capTypes(undefined, limits, () => ['b']).types).toBeUndefined();
  });

  it('does not even look where there is no limit', () => {
    const looked: string[] = [];
    const capped = capTypes(['a'], new Map(), () => {
      looked.push('looked');
      return [];
    });

    expect(capped).toEqual({ types: ['a'], caps: undefined });
    expect(looked).toEqual([]);
  });

  it('counts down as jobs come in', () => {
    const { caps } = capTypes(undefined, limits, () => ['a']);

    expect([takeOne(caps, 'a'), takeOne(caps, 'a'), takeOne(caps, 'c')]).toEqual([true, false, true]);
    expect(takeOne(undefined, 'a')).toBe(true);
  });
});
