import { InvalidJobTypeError, InvalidOptionError } from '../../../lib/model/errors.js';
import { mergePolicies, resolveHandlerPolicies, resolveHandlerPolicy } from '../../../lib/model/handler-policy.js';
import { resolveMemoryOptions, resolvePersistentOptions } from '../../../lib/model/queue-options.js';

describe('the option handlers', () => {
  it.each([
    [{ send: { maxRetries: 1.5 } }, "persistent.handlers['send'].maxRetries must be a whole number"],
    [{ send: { maxRetries: '5' } }, "got '5'"],
    [{ send: { timeout: Number.NaN } }, "persistent.handlers['send'].timeout must be a duration"],
    [{ send: { backoff: { initial: -1 } } }, "persistent.handlers['send'].backoff.initial must be a duration"],
    [{ send: { retention: { completed: '7d' } } }, "persistent.handlers['send'].retention.completed must be"],
    [{ send: { globalConcurrency: 0 } }, "persistent.handlers['send'].globalConcurrency must be a whole number from 1"],
    [{ send: { rateLimit: 5 } }, "persistent.handlers['send'].rateLimit must be an object, got 5"],
    [{ send: { rateLimit: { limit: 5 } } }, "persistent.handlers['send'].rateLimit.window must be a duration"],
    [{ send: { rateLimit: { limit: 10_001, window: 1 } } }, 'rateLimit.limit must be a whole number from 1 to 10000'],
    [{ send: { rateLimit: { limit: 1, window: 1, per: 1 } } }, "rateLimit has no option 'per'"],
    [{ send: { retries: 1 } }, "persistent.handlers['send'] has no option 'retries'"],
    [{ send: 7 }, "persistent.handlers['send'] must be an object, got 7"],
    [7, 'persistent.handlers must be an object, got 7'],
    [[], 'persistent.handlers must be an object, got an array'],
  ])('refuses %j', (handlers, message) => {
    expect(() => resolvePersistentOptions({ handlers })).toThrow(InvalidOptionError);
    expect(() => resolvePersistentOptions({ handlers })).toThrow(message);
  });

  it('refuses what can be no job type', () => {
    expect(() => resolveMemoryOptions({ handlers: { ' ': {} } })).toThrow(InvalidJobTypeError);
  });

  it('takes any job type for just that', () => {
    const policies = resolveHandlerPolicies('handlers', JSON.parse('{ "__proto__": { "timeout": 5 } }'));

    expect([policies['__proto__'], policies['constructor'], policies['timeout']]).toEqual([
      { timeout: 5 },
      undefined,
      undefined,
    ]);
  });
});

describe('mergePolicies', () => {
  const own = resolveHandlerPolicy('', { maxRetries: 1, timeout: 10, retention: { completed: 5, failed: 6 } });

  it('lets what the queue was given win, option by option', () => {
    const given = resolveHandlerPolicy('', { maxRetries: 0, retention: { failed: 'forever' } });

    expect(mergePolicies(own, given)).toEqual({
      maxRetries: 0,
      timeout: 10,
      retention: { completed: 5, failed: Infinity },
    });
  });

  it('takes what there is', () => {
    expect([mergePolicies(own, undefined), mergePolicies(undefined, own), mergePolicies(undefined, undefined)]).toEqual(
      [own, own, {}],
    );
  });
});
