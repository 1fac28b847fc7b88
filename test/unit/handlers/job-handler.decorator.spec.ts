import {
  DuplicateHandlerError,
  InvalidHandlerError,
  InvalidJobTypeError,
  InvalidOptionError,
  JobHandler,
  type JobHandlerOptions,
} from 'nestjs-jobs';
import { handlerMarks, type HandlerMark } from '../../../lib/handlers/handler-metadata.js';

/** Defines a class whose method `run` has this decorator, and returns the marks of that method. */
function define(type: unknown, options?: unknown): readonly HandlerMark[] {
  class Mailer {
    @JobHandler(type as string, options as JobHandlerOptions)
    run(): void {}
  }
  return handlerMarks.ownOf(Mailer.prototype).get('run') ?? [];
}

describe('@JobHandler', () => {
  it('keeps the type under the name of the method', () => {
    expect(define('send_mail')).toEqual([expect.objectContaining({ type: 'send_mail', instance: undefined })]);
  });

  it('keeps what the handler says about its jobs', () => {
    const [mark] = define('send_mail', {
      maxRetries: 0,
      backoff: { initial: 10 },
      timeout: 5,
      retention: { completed: 'forever', failed: 9 },
      instance: 'reports',
    });

    expect(mark).toEqual({
      type: 'send_mail',
      instance: 'reports',
      policy: {
        maxRetries: 0,
        backoff: { kind: 'exponential', initial: 10, multiplier: 2, max: 3_600_000, jitter: 0 },
        timeout: 5,
        retention: { completed: Infinity, failed: 9 },
      },
    });
  });

  it('keeps nothing that the handler does not say', () => {
    const [mark] = define('send_mail');

    expect(mark?.policy).toEqual({
      maxRetries: undefined,
      backoff: undefined,
      timeout: undefined,
      uniqueKey: undefined,
    });
  });

  it('leaves nothing enumerable on the class', () => {
    class Mailer {
      @JobHandler('send_mail')
      run(): void {}
    }

    expect(Object.keys(Mailer.prototype)).toEqual([]);
    expect(Object.getOwnPropertySymbols(Object.assign({}, Mailer.prototype))).toEqual([]);
  });

  it('does not change what a base class says', () => {
    class Base {
      @JobHandler('base')
      run(): void {}
    }
    class Derived extends Base {
      @JobHandler('derived')
      override run(): void {}
    }

    expect([...handlerMarks.allOf(Base.prototype).values()].flat().map(({ type }) => type)).toEqual(['base']);
    expect([...handlerMarks.allOf(Derived.prototype).values()].flat().map(({ type }) => type)).toEqual(['derived']);
  });

  it('may bind one method to two instances', () => {
    class Mailer {
      @JobHandler('send_mail', { instance: 'one' })
      @JobHandler('send_mail', { instance: 'two' })
      run(): void {}
    }

    expect(handlerMarks.ownOf(Mailer.prototype).get('run')).toHaveLength(2);
  });

  it.each([
    [{ maxRetries: -1 }, 'maxRetries must be a whole number from 0 to 10000, got -1'],
    [{ maxRetries: '3' }, "maxRetries must be a whole number from 0 to 10000, got '3'"],
    [{ timeout: Number.NaN }, 'timeout must be a duration in whole milliseconds from 0 to'],
    [{ backoff: { multiplier: 0 } }, 'backoff.multiplier must be a number from 1 to 1000, got 0'],
    [{ backoff: 500 }, 'backoff must be an object or a function, got 500'],
    [
      { instance: '' },
      "instance must be 1 to 64 letters, digits, dots, dashes and underscores, like 'reports', got ''",
    ],
    [
      { retries: 3 },
      "options have no option 'retries'; they have maxRetries, backoff, timeout, priority, queue, concurrency, globalConcurrency, rateLimit, key, retention, uniqueKey, schema, transactional, enhancers, instance",
    ],
    [{ uniqueKey: 'ada' }, "uniqueKey must be a function, got 'ada'"],
    [null, 'options must be an object, got null'],
  ])('refuses the options %j and names the method', (options, message) => {
    const act = (): unknown => define('send_mail', options);

    expect(act).toThrow(InvalidOptionError);
    expect(act).toThrow(`@JobHandler on Mailer.run: ${message}`);
  });

  it.each([[''], [undefined], [1], ['x'.repeat(256)], ['tail ']])(
    'refuses the type %j and names the method',
    (type) => {
      const act = (): unknown => define(type);

      expect(act).toThrow(InvalidJobTypeError);
      expect(act).toThrow('@JobHandler on Mailer.run: a job type ');
    },
  );

  it('refuses one type twice on one method', () => {
    const act = (): unknown => {
      class Mailer {
        @JobHandler('send_mail')
        @JobHandler('send_mail')
        run(): void {}
      }
      return Mailer;
    };

    expect(act).toThrow(new DuplicateHandlerError("Mailer.run has two @JobHandler('send_mail'); keep one of them"));
  });

  it('refuses a field', () => {
    const act = (): unknown => JobHandler('send_mail')({}, 'run', undefined as never);

    expect(act).toThrow(InvalidHandlerError);
    expect(act).toThrow('which is no method; put it on a method');
  });

  it('refuses to be a decorator of the kind that Nest does not use', () => {
    const decorate = JobHandler('send_mail') as (value: unknown, context: unknown) => void;

    expect(() => decorate(() => 1, { kind: 'method', name: 'run' })).toThrow(/experimentalDecorators/);
  });

  it('refuses a class', () => {
    const decorate = JobHandler('send_mail') as (value: unknown) => void;

    expect(() => decorate(class Mailer {})).toThrow(InvalidHandlerError);
  });
});
