import type { Outcome } from '../../../../lib/model/outcome.js';
import { toClaimedJob, toSettledRow } from '../../../../lib/stores/typeorm/job-row.js';

const row = {
  id: 'id',
  job_type: 'work',
  payload: '1',
  attempts: '10',
  max_retries: 3n,
  interruptions: 0,
  created_at: '1764000000000',
  expires_at: null,
  tags: null,
};
const facts = { token: 'token', now: 1_764_000_000_000 };

describe('toClaimedJob', () => {
  it('makes numbers of whatever the driver gives for numbers', () => {
    expect(toClaimedJob(row, facts)).toEqual({
      id: 'id',
      token: 'token',
      type: 'work',
      payload: '1',
      attempts: 10,
      maxRetries: 3,
      interruptions: 0,
      createdAt: 1_764_000_000_000,
    });
  });

  it('measures the time that is left by the clock of the store', () => {
    expect(toClaimedJob({ ...row, expires_at: '1764000000250' }, facts).expiresInMs).toBe(250);
  });

  it.each([
    ['["a","b"]', ['a', 'b']],
    ['{"a":1}', undefined],
    ['[1]', undefined],
    ['nonsense', undefined],
  ])('reads tags, and takes what are none for none: %s', (tags, expected) => {
    expect(toClaimedJob({ ...row, tags }, facts).tags).toEqual(expected);
  });

  it('refuses a row without text where text belongs', () => {
    expect(() => toClaimedJob({ ...row, payload: null }, facts)).toThrow(TypeError);
  });
});

describe('toSettledRow', () => {
  const settled = (outcome: Outcome) => toSettledRow({ id: 'id', token: 'token', outcome });

  it.each<[Outcome, object]>([
    [
      { kind: 'retried', delayMs: 5, error: 'boom' },
      { status: 'pending', cost: 1, delayMs: 5, error: 'boom' },
    ],
    [
      { kind: 'retried', delayMs: 0, error: 'boom' },
      { status: 'pending', cost: 1, delayMs: 0, error: 'boom' },
    ],
    [
      { kind: 'failed', error: 'bo\0om' },
      { status: 'failed', cost: 1, delayMs: null, error: 'boom' },
    ],
    [
      { kind: 'released', delayMs: 5 },
      { status: 'pending', cost: 0, delayMs: 5, error: null },
    ],
    [
      { kind: 'released', delayMs: 0 },
      { status: 'pending', cost: 0, delayMs: null, error: null },
    ],
    [{ kind: 'abandoned' }, { status: 'running', cost: 0, delayMs: null, error: null }],
  ])('of %j', (outcome, expected) => {
    expect(settled(outcome)).toEqual({ id: 'id', token: 'token', ...expected });
  });

  it('has none for a completed job', () => {
    expect(() => settled({ kind: 'completed' })).toThrow(TypeError);
  });
});
