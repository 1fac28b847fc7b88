import { Attempt } from '../../../lib/execution/attempt.js';
import type { Execution } from '../../../lib/execution/execution.js';
import { Executor } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { InvalidPayloadError, JobAbortedError } from '../../../lib/model/errors.js';
import { defaultBackoff, resolveBackoff } from '../../../lib/model/retry-policy.js';
import { Discard, RetryAfter, Snooze } from '../../../lib/model/steering.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/** Runs one attempt of a job of this payload by a handler. */
function execute(run: () => unknown, payload = ''): Promise<Execution> {
  const registry = new HandlerRegistry();
  registry.add({ type: 'work', source: 'work', policy: {}, run });
  const job = { id: '1', token: 't', type: 'work', payload, attempts: 0, maxRetries: 3, interruptions: 0 };
  const executor = new Executor(registry, { backoff: defaultBackoff, timeout: 0 });
  return executor.execute(new Attempt(job, 0, { makeLogger: () => silent }));
}

describe('Executor', () => {
  it.each([
    ['an error without a message', () => Object.assign(new Error('x'), { message: undefined })],
    ['an error whose message is an object', () => Object.assign(new Error('x'), { message: { status: 500 } })],
    ['an error with a stack that throws', () => Object.defineProperty(new Error('x'), 'stack', { get: refuse })],
    ['an error whose stack is no text', () => Object.assign(new Error('x'), { stack: 7 })],
    ['an object that JSON leaves out', () => ({ toJSON: () => undefined })],
    ['a hostile proxy', () => new Proxy({}, { get: refuse, getPrototypeOf: refuse })],
    ['nothing', () => undefined],
  ])('survives a handler that throws %s', async (_what, make) => {
    const { outcome } = await execute(() => {
      // oxlint-disable-next-line typescript/only-throw-error -- what handlers throw need not be an error
      throw make();
    });

    expect(outcome.kind).toBe('retried');
  });

  it('retries a handler that had a payload of its own refused', async () => {
    const { outcome } = await execute(() => Promise.reject(new InvalidPayloadError('payload is a Date')));

    expect(outcome).toMatchObject({ kind: 'retried', error: 'payload is a Date' });
  });

  it('fails at once a job whose payload cannot be read, without calling its handler', async () => {
    let calls = 0;

    const { outcome } = await execute(() => ++calls, 'no json');

    expect(outcome.kind).toBe('failed');
    expect(calls).toBe(0);
  });
});

describe('Executor, told to stop', () => {
  const stopped = (thrown: unknown): Promise<Execution> => {
    const registry = new HandlerRegistry();
    const run = (): never => {
      throw thrown;
    };
    registry.add({ type: 'work', source: 'work', policy: {}, run });
    const job = { id: '1', token: 't', type: 'work', payload: '', attempts: 0, maxRetries: 3, interruptions: 0 };
    const attempt = new Attempt(job, 0, { makeLogger: () => silent });
    attempt.abort('shutdown');
    return new Executor(registry, { backoff: defaultBackoff, timeout: 0 }).execute(attempt);
  };

  it('gives back a job whose handler throws', async () => {
    expect((await stopped(new Error('stopped'))).outcome.kind).toBe('released');
  });

  it.each([
    [new Discard('gone'), 'failed'],
    [new RetryAfter(5), 'retried'],
    [new Snooze(5), 'snoozed'],
  ])('obeys a handler that steers all the same: %s', async (steering, kind) => {
    expect((await stopped(steering)).outcome.kind).toBe(kind);
  });
});

describe('Executor, after a timeout', () => {
  it('shows the backoff function why', async () => {
    const seen: unknown[] = [];
    const backoff = resolveBackoff((attempt: number, error: unknown) => seen.push(attempt, error));
    const registry = new HandlerRegistry();
    const run = (): Promise<void> => new Promise(() => undefined);
    registry.add({ type: 'work', source: 'work', policy: { backoff, timeout: 1 }, run });
    const job = { id: '1', token: 't', type: 'work', payload: '', attempts: 4, maxRetries: 9, interruptions: 0 };

    await new Executor(registry, { backoff: defaultBackoff, timeout: 0 }).execute(
      new Attempt(job, 0, { makeLogger: () => silent }),
    );

    expect(seen).toEqual([5, expect.any(JobAbortedError)]);
    expect(seen[1]).toMatchObject({ reason: 'timeout', message: 'timed out after 1 ms' });
  });
});

function refuse(): never {
  throw new Error('no');
}
