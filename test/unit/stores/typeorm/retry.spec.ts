import { errorField, retryPassing } from '../../../../lib/stores/typeorm/retry.js';

class Deadlock extends Error {}

/** Fails so many times before it succeeds. */
function failing(times: number, error: Error): { readonly run: () => Promise<string>; readonly calls: () => number } {
  let calls = 0;
  return {
    run: async () => {
      calls += 1;
      if (calls <= times) throw error;
      return 'done';
    },
    calls: () => calls,
  };
}

const isPassing = (error: unknown): boolean => error instanceof Deadlock;

describe('retryPassing', () => {
  it('says a statement again that was a victim', async () => {
    const { run, calls } = failing(2, new Deadlock());

    expect(await retryPassing(isPassing, run)).toBe('done');
    expect(calls()).toBe(3);
  });

  it('does not repeat what failed for another reason', async () => {
    const error = new Error('no');
    const { run, calls } = failing(2, error);

    await expect(retryPassing(isPassing, run)).rejects.toBe(error);
    expect(calls()).toBe(1);
  });

  it('gives up in the end, with the error as it is', async () => {
    const error = new Deadlock();
    const { run, calls } = failing(1_000, error);

    await expect(retryPassing(isPassing, run)).rejects.toBe(error);
    expect(calls()).toBe(13);
  });
});

describe('errorField', () => {
  it.each([
    [{ code: 'X' }, 'X'],
    [{ code: 7 }, 7],
    [{ code: {} }, undefined],
    [{}, undefined],
    [null, undefined],
    ['text', undefined],
  ])('of %p is %p', (error, expected) => {
    expect(errorField(error, 'code')).toBe(expected);
  });
});
