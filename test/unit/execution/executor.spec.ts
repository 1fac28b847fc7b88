import { Attempt } from '../../../lib/execution/attempt.js';
import { Executor, type Execution } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { InvalidPayloadError } from '../../../lib/model/errors.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/** Runs one attempt of a job of this payload by a handler. */
function execute(run: () => unknown, payload = ''): Promise<Execution> {
  const registry = new HandlerRegistry();
  registry.add({ type: 'work', source: 'work', policy: {}, run });
  const job = { id: '1', token: 't', type: 'work', payload, attempts: 0, maxRetries: 3, interruptions: 0 };
  const executor = new Executor(registry, { backoff: defaultBackoff, timeout: 0 });
  return executor.execute(new Attempt(job, 0, () => silent));
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

function refuse(): never {
  throw new Error('no');
}
