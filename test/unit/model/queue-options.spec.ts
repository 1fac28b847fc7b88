import { resolveEnqueueOptions, resolveSubmitOptions } from '../../../lib/model/enqueue-options.js';
import { InvalidJobTypeError, InvalidOptionError } from '../../../lib/model/errors.js';
import { checkJobType } from '../../../lib/model/job-type.js';
import { resolveMemoryOptions, resolvePersistentOptions } from '../../../lib/model/queue-options.js';

describe('queue options', () => {
  it('have the documented defaults', () => {
    expect(resolvePersistentOptions()).toMatchObject({
      workers: 4,
      maxRetries: 3,
      backoff: { initial: 500, multiplier: 2 },
      pollInterval: 500,
      lease: 30_000,
      tableName: 'rws_jobs',
      schema: 'auto',
      unknownTypes: 'ignore',
    });
    expect(resolveMemoryOptions()).toMatchObject({
      workers: 4,
      maxRetries: 3,
      backoff: { initial: 500, multiplier: 2 },
    });
  });

  it('take undefined for "not given"', () => {
    expect(resolveMemoryOptions({ workers: undefined }).workers).toBe(4);
  });

  it.each([0, -1, Number.NaN, 1.5, '4', null, Infinity])('refuse workers: %p, naming option and value', (workers) => {
    expect(() => resolveMemoryOptions({ workers })).toThrow(InvalidOptionError);
    expect(() => resolvePersistentOptions({ workers })).toThrow(
      /persistent\.workers must be a whole number from 1 to 10000, got /,
    );
  });

  it.each([
    [{ pollInterval: 0 }, 'persistent.pollInterval'],
    [{ lease: 0 }, 'persistent.lease'],
    [{ lease: 100 }, 'persistent.lease must be a duration in whole milliseconds from 250'],
    [{ maxRetries: -1 }, 'persistent.maxRetries'],
    [{ maxRetries: Number.NaN }, 'persistent.maxRetries'],
    [{ maxRetries: '3' }, "got '3'"],
    [{ backoff: { multiplier: 0 } }, 'persistent.backoff.multiplier'],
    [{ tableName: 'weird "name' }, 'persistent.tableName'],
    [{ tableName: '' }, 'persistent.tableName'],
    [{ tableName: 7 }, 'persistent.tableName'],
    [{ schema: 'yes' }, "persistent.schema must be 'auto' or 'check' or 'none', got 'yes'"],
    [{ notify: 'no' }, 'persistent.notify'],
    [{ retention: { failed: '7d' } }, "persistent.retention.failed must be milliseconds or 'forever', got '7d'"],
    [{ retention: { failed: -1 } }, 'persistent.retention.failed'],
    [{ retention: { failed: Number.NaN } }, "persistent.retention.failed must be milliseconds or 'forever', got NaN"],
    [{ retention: { completed: Infinity } }, "persistent.retention.completed must be milliseconds or 'forever'"],
    [{ retention: { completed: 1.5 } }, 'persistent.retention.completed'],
    [{ retention: { done: 1 } }, "persistent.retention has no option 'done'; it has completed, failed, cancelled"],
    [{ retention: 7 }, 'persistent.retention must be an object, got 7'],
    [{ retention: { cancelled: '7d' } }, "persistent.retention.cancelled must be milliseconds or 'forever', got '7d'"],
    [{ unknownTypes: 'drop' }, 'persistent.unknownTypes'],
    [{ queues: ['mail'] }, 'persistent.queues must be an object like { mail: 2 }, got an array'],
    [{ queues: { mail: 0 } }, 'persistent.queues.mail must be a whole number from 1 to 10000, got 0'],
    [{ queues: { ' mail': 1 } }, 'a name in persistent.queues must be the name of a queue'],
    [{ poolInterval: 500 }, "persistent has no option 'poolInterval'"],
  ])('refuse %j', (options, message) => {
    expect(() => resolvePersistentOptions(options)).toThrow(InvalidOptionError);
    expect(() => resolvePersistentOptions(options)).toThrow(message);
  });

  it('take no workers where queues have their own', () => {
    expect(resolvePersistentOptions({ workers: 0, queues: { mail: 2 } })).toMatchObject({
      workers: 0,
      queues: { mail: 2 },
    });
  });

  it('take a poll interval beyond what a timer holds', () => {
    expect(resolvePersistentOptions({ pollInterval: 2 ** 31 }).pollInterval).toBe(2 ** 31);
  });
});

describe('options of a job', () => {
  it.each([
    [{ delay: Number.NaN }, 'delay must be a duration'],
    [{ delay: -5 }, 'got -5'],
    [{ delay: '10' }, "got '10'"],
    [{ delay: 1.5 }, 'got 1.5'],
    [{ runAt: new Date(Number.NaN) }, 'got an invalid Date'],
    [{ runAt: '2030-01-01' }, "runAt must be a Date or epoch milliseconds, got '2030-01-01'"],
    [{ runAt: 1_900_000_000 }, 'runAt looks like seconds'],
    [{ runAt: Infinity }, 'got Infinity'],
    [{ runAt: new Date(), delay: 5 }, 'delay and runAt exclude each other'],
    [{ maxRetries: 1.5 }, 'maxRetries must be a whole number'],
    [{ priority: 1.5 }, 'priority must be a whole number from -100 to 100, got 1.5'],
    [{ queue: '' }, 'queue must be the name of a queue'],
    [{ timeout: -1 }, 'timeout must be a duration in whole milliseconds'],
    [{ timeout: Number.NaN }, 'got NaN'],
    [{ timeout: '5s' }, "got '5s'"],
    [{ manager: 'm' }, 'manager must be the EntityManager'],
    [{ dely: 5 }, "have no option 'dely'"],
    ['now', "must be an object, got 'now'"],
    [{ dataSource: {}, transaction: () => 1 }, 'are an EntityManager; pass it as { manager }'],
  ])('refuse %j', (options, message) => {
    expect(() => resolveEnqueueOptions(options)).toThrow(InvalidOptionError);
    expect(() => resolveEnqueueOptions(options)).toThrow(message);
  });

  it('take a moment in the past', () => {
    expect(resolveEnqueueOptions({ runAt: new Date(0) }).runAt).toBe(0);
  });

  it('give a memory job no transaction', () => {
    expect(() => resolveSubmitOptions({ manager: {} })).toThrow(/have no option 'manager'/);
    expect(() => resolveSubmitOptions({ queue: 'mail' })).toThrow(/have no option 'queue'/);
  });
});

describe('checkJobType', () => {
  it.each([
    ["a'b"],
    ['a"b'],
    ['a`b'],
    ['a\\b'],
    ['%'],
    ['_'],
    ['--'],
    [';drop'],
    ['__proto__'],
    ['constructor'],
    ['漢字 🎉'],
    ['x'.repeat(255)],
  ])('takes %p', (type) => {
    expect(checkJobType(type)).toBe(type);
  });

  it.each([[''], ['x'.repeat(256)], ['a\0'], ['a\n'], [' a'], ['a '], ['\ud800'], [undefined], [7], [{}]])(
    'refuses %p',
    (type) => {
      expect(() => checkJobType(type)).toThrow(InvalidJobTypeError);
    },
  );
});
