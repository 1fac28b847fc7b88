import type { Outcome } from '../../../../lib/model/outcome.js';
import { toClaimedJob, toSettledRow } from '../../../../lib/stores/typeorm/job-row.js';

const row = {
  id: 'id',
  job_type: 'work',
  payload: '1',
  attempts: '10',
  max_retries: 3n,
  timeout: '5000',
  interruptions: 0,
  created_at: '1764000000000',
  next_run_at: '1764000000001',
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
      timeoutMs: 5_000,
      interruptions: 0,
      createdAt: 1_764_000_000_000,
      dueAt: 1_764_000_000_001,
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

  it('tells no timeout from one of 0', () => {
    expect(toClaimedJob({ ...row, timeout: null }, facts).timeoutMs).toBeUndefined();
    expect(toClaimedJob({ ...row, timeout: 0 }, facts).timeoutMs).toBe(0);
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
      { status: 'failed', cost: 1, error: 'boom', isFinished: true },
    ],
    [
      { kind: 'failed', error: 'boom', keepMs: 7 },
      { status: 'failed', cost: 1, error: 'boom', isFinished: true, keepMs: 7 },
    ],
    [
      { kind: 'completed', keep: { keepMs: 9, result: '{"a":1}' } },
      { status: 'completed', isFinished: true, keepMs: 9, result: '{"a":1}' },
    ],
    [
      { kind: 'completed', keep: { keepMs: 9, result: undefined } },
      { status: 'completed', isFinished: true, keepMs: 9 },
    ],
    [
      { kind: 'snoozed', delayMs: 5, reason: 'later' },
      { status: 'pending', delayMs: 5 },
    ],
    [
      { kind: 'released', delayMs: 5 },
      { status: 'pending', delayMs: 5 },
    ],
    [{ kind: 'released', delayMs: 0 }, { status: 'pending' }],
    [{ kind: 'abandoned' }, { status: 'running' }],
  ])('of %j', (outcome, expected) => {
    const unchanged = {
      cost: 0,
      delayMs: null,
      error: null,
      isFinished: false,
      keepMs: null,
      result: null,
      line: null,
      progress: null,
      log: null,
    };

    expect(settled(outcome)).toEqual({ id: 'id', token: 'token', ...unchanged, ...expected });
  });

  it('keeps for ever by a number that every database holds, and that stays exact when a moment is added', () => {
    const { keepMs } = settled({ kind: 'completed', keep: { keepMs: Infinity, result: undefined } });

    expect(Number.isSafeInteger(Number(keepMs) + Date.now())).toBe(true);
  });

  it('has none for a completed job that is not kept', () => {
    expect(() => settled({ kind: 'completed' })).toThrow(TypeError);
  });
});
