import fc from 'fast-check';
import { longestMs } from '../../../lib/model/check.js';
import { InvalidOptionError } from '../../../lib/model/errors.js';
import { nextWait, resolveBackoff, type BackoffFunction } from '../../../lib/model/retry-policy.js';

const waits = (options: unknown, count = 4): readonly number[] =>
  Array.from({ length: count }, (_, attempts) => nextWait(resolveBackoff(options), { attempts, error: 'e' }).ms);

describe('the kinds of backoff', () => {
  it.each([
    [{ initial: 100 }, [100, 200, 400, 800]],
    [{ kind: 'exponential', initial: 100, multiplier: 3 }, [100, 300, 900, 2_700]],
    [{ kind: 'linear', initial: 100 }, [100, 200, 300, 400]],
    [{ kind: 'linear', initial: 100, max: 250 }, [100, 200, 250, 250]],
    [{ kind: 'fixed', initial: 100 }, [100, 100, 100, 100]],
    [(attempt: number) => attempt * 10, [10, 20, 30, 40]],
    [{ delay: (attempt: number) => attempt * 10, initial: 0, max: 25 }, [10, 20, 25, 25]],
    [() => 0.2, [1, 1, 1, 1]],
    [() => 86_400_000, [86_400_000, 86_400_000, 86_400_000, 86_400_000]],
    [() => Number.MAX_VALUE, [longestMs, longestMs, longestMs, longestMs]],
  ])('wait as %p says', (options, expected) => {
    expect(waits(options)).toEqual(expected);
  });

  it('lengthen the wait of a function by jitter too', () => {
    const backoff = resolveBackoff({ delay: () => 100, jitter: 0.5 });

    expect(nextWait(backoff, { attempts: 0, error: 'e' }, () => 0.5).ms).toBe(125);
  });

  it('show the function the number of the attempt that failed, and its error', () => {
    const seen: unknown[] = [];
    const error = new Error('boom');

    nextWait(
      resolveBackoff((...all: unknown[]) => seen.push(...all)),
      { attempts: 2, error },
    );

    expect(seen).toEqual([3, error]);
  });

  it.each<[string, unknown, RegExp]>([
    ['NaN', () => Number.NaN, /returned NaN, which is no number of milliseconds/],
    ['a negative number', () => -1, /returned -1/],
    ['Infinity', () => Infinity, /returned Infinity/],
    ['nothing', () => undefined, /returned undefined/],
    ['a text', () => '500', /returned '500'/],
    ['a promise', () => Promise.resolve(5), /returned a promise; it must return a number at once/],
    ['a promise that fails', () => Promise.reject(new Error('late')), /returned a promise/],
    ['an object', () => ({ ms: 7 }), /returned an object/],
    [
      'an exception',
      () => {
        throw new Error('bug');
      },
      /threw: bug/,
    ],
    [
      'a hostile object',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
      /threw/,
    ],
  ])('fall back to their other settings and complain when a function gives %s', (_what, delay, complaint) => {
    const backoff = resolveBackoff({ delay: delay as BackoffFunction, initial: 30, multiplier: 2 });

    expect(nextWait(backoff, { attempts: 1, error: 'e' })).toEqual({
      ms: 60,
      complaint: expect.stringMatching(complaint),
    });
  });

  it('do not wait for years when a function fails after many attempts', () => {
    expect(
      nextWait(
        resolveBackoff(() => Number.NaN),
        { attempts: 5_000, error: 'e' },
      ).ms,
    ).toBe(3_600_000);
  });

  it('are finite whole numbers within their cap, whatever a function returns', () => {
    const value = fc.oneof(fc.double(), fc.bigInt(), fc.string(), fc.constant(undefined), fc.object());
    const max = fc.integer({ min: 0, max: longestMs });

    fc.assert(
      fc.property(value, max, fc.nat(20_000), (returned, cap, attempts) => {
        const backoff = resolveBackoff({ delay: () => returned, initial: 0, max: cap });
        const { ms } = nextWait(backoff, { attempts, error: 'e' });
        expect(Number.isSafeInteger(ms) && ms >= 0 && ms <= cap).toBe(true);
      }),
    );
  });

  it.each([
    [{ kind: 'quadratic' }, /backoff.kind must be 'exponential' or 'linear' or 'fixed', got 'quadratic'/],
    [{ kind: 'fixed', multiplier: 2 }, /backoff.multiplier belongs to kind 'exponential', got 2 beside kind 'fixed'/],
    [{ delay: 500 }, /backoff.delay must be a function \(attempt, error\) => milliseconds, got 500/],
    [{ delay: () => 1, max: -1 }, /backoff.max must be a duration/],
  ])('refuse %p', (options, message) => {
    expect(() => resolveBackoff(options)).toThrow(InvalidOptionError);
    expect(() => resolveBackoff(options)).toThrow(message);
  });
});
