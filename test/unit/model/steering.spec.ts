import { runInNewContext } from 'node:vm';
import { decideFailure } from '../../../lib/model/decide-failure.js';
import { InvalidOptionError, JobsError } from '../../../lib/model/errors.js';
import { resolveBackoff } from '../../../lib/model/retry-policy.js';
import { Discard, RetryAfter, Snooze, steeringOf } from '../../../lib/model/steering.js';

const policy = { maxRetries: 2, backoff: resolveBackoff({ kind: 'fixed', initial: 77 }) };

describe('the errors by which a handler steers', () => {
  it.each([
    [new RetryAfter(5, 'busy'), 'RetryAfter', 'JOBS_RETRY_AFTER', 'busy'],
    [new Discard('gone'), 'Discard', 'JOBS_DISCARD', 'gone'],
    [new Snooze(5), 'Snooze', 'JOBS_SNOOZE', 'the handler put the job off'],
  ])('are errors with name, code and reason: %s', (error, name, code, message) => {
    expect(error).toBeInstanceOf(JobsError);
    expect(error).toMatchObject({ name, code, message });
  });

  it('carry a cause', () => {
    const cause = new Error('404');

    expect(new Discard('gone', { cause }).cause).toBe(cause);
  });

  it.each([Number.NaN, -1, Infinity, '5', undefined, null, 5n, new Date(), 4e15])('refuse %p for a wait', (ms) => {
    expect(() => new RetryAfter(ms as number)).toThrow(InvalidOptionError);
    expect(() => new Snooze(ms as number)).toThrow(/the ms of Snooze must be a number from 0 to/);
  });

  it('round fractions up', () => {
    expect([new RetryAfter(0.1).ms, new Snooze(1_000.5).ms]).toEqual([1, 1_001]);
  });
});

describe('steeringOf', () => {
  it('knows them by their code, of whatever copy of the library or realm they are', () => {
    const foreign: unknown = runInNewContext(
      "Object.assign(new Error('busy'), { code: 'JOBS_RETRY_AFTER', ms: 7.5, name: 'Foreign' })",
    );

    expect(steeringOf(foreign)).toEqual({ kind: 'retry after', ms: 8 });
  });

  it.each([
    undefined,
    null,
    7,
    'JOBS_DISCARD',
    { code: 'JOBS_DISCARD' },
    new Error('boom'),
    Object.assign(new Error('boom'), { code: 'ECONNRESET' }),
  ])('takes nothing else for one: %p', (value) => {
    expect(steeringOf(value)).toBeUndefined();
  });
});

describe('steeringOf, given an error that cannot be read', () => {
  it('takes it for no steering', () => {
    const refuse = (): never => {
      throw new Error('no');
    };

    expect(steeringOf(new Proxy(new Error('boom'), { get: refuse, has: () => true }))).toBeUndefined();
  });
});

describe('decideFailure', () => {
  it.each([
    [new RetryAfter(5_000, 'busy'), 0, { kind: 'retried', delayMs: 5_000, error: 'busy' }],
    [new RetryAfter(0, 'busy'), 1, { kind: 'retried', delayMs: 0, error: 'busy' }],
    [new RetryAfter(5_000, 'busy'), 2, { kind: 'failed', error: 'busy' }],
    [new Discard('gone'), 0, { kind: 'failed', error: 'gone' }],
    [new Snooze(60_000, 'not yet'), 0, { kind: 'snoozed', delayMs: 60_000, reason: 'not yet' }],
    [new Snooze(60_000, 'not yet'), 9, { kind: 'snoozed', delayMs: 60_000, reason: 'not yet' }],
    [new Snooze(0, 'not yet'), 0, { kind: 'snoozed', delayMs: 1_000, reason: 'not yet' }],
    [new Error('boom'), 1, { kind: 'retried', delayMs: 77, error: 'boom' }],
  ])('of %s after %i failed attempts is %j', (thrown, attempts, outcome) => {
    expect(decideFailure({ attempts }, thrown, policy)).toEqual({ outcome });
  });

  it('takes an impossible wait of another origin for an ordinary failure that says so', () => {
    const thrown = Object.assign(new Error('x'), { code: 'JOBS_SNOOZE', ms: Number.NaN });

    expect(decideFailure({ attempts: 0 }, thrown, policy).outcome).toEqual({
      kind: 'retried',
      delayMs: 77,
      error: 'the handler asked to snooze NaN, which is no number of milliseconds',
    });
  });

  it('asks no backoff function where no retry is left', () => {
    let calls = 0;
    const backoff = resolveBackoff(() => ++calls);

    decideFailure({ attempts: 2 }, new Error('boom'), { maxRetries: 2, backoff });

    expect(calls).toBe(0);
  });
});
