import fc from 'fast-check';
import { InvalidOptionError } from '../../../lib/model/errors.js';
import { decideFailure } from '../../../lib/model/decide-failure.js';
import { describeError } from '../../../lib/model/failure.js';
import { backoffDelay, defaultBackoff, resolveBackoff } from '../../../lib/model/retry-policy.js';

describe('backoffDelay', () => {
  it.each([
    [0, 500],
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
  ])('waits twice as long after each attempt: attempt %i waits %i ms', (attempts, expected) => {
    expect(backoffDelay(defaultBackoff, attempts)).toBe(expected);
  });

  it('is a finite whole number within its cap for every policy and every number of attempts', () => {
    const policies = fc.record({
      initial: fc.integer({ min: 0, max: 86_400_000 }),
      multiplier: fc.double({ min: 1, max: 1_000, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });

    fc.assert(
      fc.property(
        policies,
        fc.nat(2_000_000),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (given, attempts, random) => {
          const policy = resolveBackoff(given);
          const delay = backoffDelay(policy, attempts, () => random);
          expect(Number.isSafeInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(policy.initial);
          expect(delay).toBeLessThanOrEqual(Math.ceil(policy.max * (1 + policy.jitter)));
        },
      ),
    );
  });

  it('stays capped where the power is no number any more', () => {
    expect(backoffDelay(defaultBackoff, 1_100)).toBe(3_600_000);
  });

  it('rounds fractions up, so that no retry is early', () => {
    expect(backoffDelay(resolveBackoff({ initial: 333, multiplier: 1.5 }), 1)).toBe(500);
  });

  it('lengthens by jitter and never shortens', () => {
    const backoff = resolveBackoff({ jitter: 0.5 });

    expect([backoffDelay(backoff, 0, () => 0), backoffDelay(backoff, 0, () => 0.999)]).toEqual([500, 750]);
  });
});

describe('resolveBackoff', () => {
  it.each([
    [{ multiplier: 0 }, /backoff.multiplier must be a number from 1 to 1000, got 0/],
    [{ initial: -1 }, /backoff.initial must be a duration in whole milliseconds/],
    [{ initial: Number.NaN }, /got NaN/],
    [{ initial: '500' }, /got '500'/],
    [{ jitter: 2 }, /backoff.jitter must be a number from 0 to 1, got 2/],
    [{ max: 10 }, /backoff.max must be a duration in whole milliseconds from 500/],
    [{ factor: 2 }, /backoff has no option 'factor'; it has kind, initial, multiplier, max, jitter, delay/],
    [7, /backoff must be an object or a function, got 7; .* \{ kind: 'fixed', initial: 7 \}/],
    ['slow', /backoff must be an object, got 'slow'/],
  ])('refuses %j and says why', (options, message) => {
    expect(() => resolveBackoff(options)).toThrow(InvalidOptionError);
    expect(() => resolveBackoff(options)).toThrow(message);
  });

  it('takes a first wait above the default cap', () => {
    expect(resolveBackoff({ initial: 7_200_000 }).max).toBe(7_200_000);
  });
});

describe('decideFailure', () => {
  const policy = { maxRetries: 2, backoff: defaultBackoff };

  it.each([
    [0, 'retried'],
    [1, 'retried'],
    [2, 'failed'],
    [9, 'failed'],
  ])('after %i failed attempts and two retries allowed the next failure is %s', (attempts, kind) => {
    expect(decideFailure({ attempts }, 'boom', policy).outcome.kind).toBe(kind);
  });

  it('allows no retry where maxRetries is 0', () => {
    expect(decideFailure({ attempts: 0 }, 'boom', { ...policy, maxRetries: 0 })).toEqual({
      outcome: { kind: 'failed', error: 'boom' },
    });
  });
});

describe('describeError', () => {
  it.each([
    [new Error('boom'), 'boom'],
    [new TypeError(''), 'TypeError'],
    ['text', 'text'],
    [{ a: 1 }, '{"a":1}'],
    [undefined, 'undefined'],
    [new Error('a\0b\ud800'), 'ab\ufffd'],
    [Object.assign(new Error('x'), { message: undefined }), 'Error'],
    [Object.assign(new Error('x'), { message: { a: 1 } }), '{"a":1}'],
    [Object.assign(new Error('x'), { message: 42 }), '42'],
    [Object.assign(new Error(''), { name: undefined }), 'an error that has no text'],
    [{ toJSON: () => undefined }, 'an error that has no text'],
  ])('describes %p', (error, text) => {
    expect(describeError(error)).toBe(text);
  });

  it('survives an error that cannot be read', () => {
    const hostile = {
      get toJSON(): never {
        throw new Error('no');
      },
    };

    expect(describeError(hostile)).toBe('an error that has no text');
  });

  it('keeps at most 4000 characters', () => {
    expect(describeError(new Error('x'.repeat(10_000)))).toHaveLength(4_000);
  });
});
