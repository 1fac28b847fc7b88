import { describeError, describeStack } from '../../../lib/model/failure.js';

const huge = 'x'.repeat(5_000_000);

describe('what is kept of an error', () => {
  it.each<[string, unknown]>([
    ['an error', new Error(huge)],
    ['a text', huge],
    ['an object', { huge }],
    ['an error of many others', new AggregateError([new Error(huge)], huge)],
    ['an error whose name is all it says', Object.assign(new Error(''), { name: huge })],
  ])('is bounded: %s', (_what, thrown) => {
    expect(describeError(thrown).length).toBeLessThanOrEqual(4_000);
  });

  it('is bounded in its stack too, which begins with the message and still ends with where it was thrown', () => {
    const stack = describeStack(new TypeError(huge));

    expect(stack?.length).toBeLessThanOrEqual(8_010);
    expect(stack).toMatch(/^TypeError: x+\n…\n/);
    expect(stack).toContain('failure.spec.ts');
  });

  it('is a whole stack where that is short', () => {
    const error = new Error('boom');

    expect(describeStack(error)).toBe(error.stack);
  });

  it('has no stack of what is no error', () => {
    expect(describeStack({ stack: 'mine' })).toBeUndefined();
    expect(describeStack('text')).toBeUndefined();
  });
});
