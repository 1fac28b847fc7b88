import { inRound, pickHeads } from '../../../lib/stores/key-line.js';

describe('inRound', () => {
  it.each([
    [['b', 'a', 'c', 'a'], '', ['a', 'b', 'c']],
    [['b', 'a', 'c'], 'a', ['b', 'c', 'a']],
    [['b', 'a', 'c'], 'b', ['c', 'a', 'b']],
    [['b', 'a', 'c'], 'c', ['a', 'b', 'c']],
    [['b', 'c'], 'bb', ['c', 'b']],
  ])('of %j behind %j is %j', (keys, served, expected) => {
    expect(inRound(keys, served)).toEqual(expected);
  });
});

describe('pickHeads', () => {
  const heads = [
    { key: 'a', id: '1' },
    { key: 'b', id: undefined },
    { key: 'c', id: '3' },
  ];

  it('takes no more than it may, and goes on behind the last key that it looked at', () => {
    expect(pickHeads(heads, { most: 1, served: 'z' })).toEqual({ ids: ['1'], served: 'a' });
    expect(pickHeads(heads, { most: 9, served: 'z' })).toEqual({ ids: ['1', '3'], served: 'c' });
  });

  it('stays where it was if it may take none', () => {
    expect(pickHeads(heads, { most: 0, served: 'z' })).toEqual({ ids: [], served: 'z' });
  });
});
