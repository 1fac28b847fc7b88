import { Controller, Inject, Injectable, Module, Scope, type DynamicModule } from '@nestjs/common';
import { LazyModuleLoader, ModulesContainer } from '@nestjs/core';
import { DuplicateHandlerError, InvalidOptionError, JobHandler, JobQueue, JobsModule } from 'nestjs-jobs';
import { closeApps, knownTypes, RecordingLogger, runJob, startApp, startMemoryApp } from '../../support/jobs-app.js';
import { until } from '../../support/until.js';

/** What handlers did, in order. */
let calls: unknown[] = [];

beforeEach(() => {
  calls = [];
});

afterEach(closeApps);

@Injectable()
class Mailer {
  readonly prefix: string = 'mail';

  @JobHandler('mail')
  send(payload: unknown): void {
    calls.push([this.prefix, payload]);
  }
}

/** Another method decorator, as tracing libraries have them: it puts a new function in the place of the method. */
function Replacing(): MethodDecorator {
  return (_target, _method, descriptor: PropertyDescriptor) => {
    const original: unknown = descriptor.value;
    descriptor.value = function replaced(this: unknown, ...args: unknown[]): unknown {
      calls.push('replaced');
      return (original as (...all: unknown[]) => unknown).apply(this, args);
    };
  };
}

function refuse(): never {
  throw new Error('looked at');
}

describe('the explorer finds handlers', () => {
  it('of a provider, and calls them on it', async () => {
    const app = await startMemoryApp({ providers: [Mailer] });

    await runJob(app, 'mail', { to: 'ada' });

    expect(calls).toEqual([['mail', { to: 'ada' }]]);
  });

  it('of a controller', async () => {
    @Controller()
    class MailController extends Mailer {}
    const app = await startMemoryApp({ controllers: [MailController] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('of a module class', async () => {
    @Module({})
    class FeatureModule {
      @JobHandler('feature')
      run(payload: unknown): void {
        calls.push(payload);
      }
    }
    const app = await startMemoryApp({ imports: [FeatureModule] });

    await runJob(app, 'feature', 1);

    expect(calls).toEqual([1]);
  });

  it('several of one class', async () => {
    @Injectable()
    class Several {
      @JobHandler('a')
      a(): void {}

      @JobHandler('b')
      b(): void {}
    }
    const app = await startMemoryApp({ providers: [Several] });

    expect(knownTypes(app)).toEqual(['a', 'b']);
  });

  it('for several types on one method', async () => {
    @Injectable()
    class Both {
      @JobHandler('a')
      @JobHandler('b')
      run(payload: unknown): void {
        calls.push(payload);
      }
    }
    const app = await startMemoryApp({ providers: [Both] });
    app.get(JobQueue).submit('a', 'a');

    await runJob(app, 'b', 'b');

    expect(calls).toEqual(['a', 'b']);
  });

  it('that are inherited', async () => {
    @Injectable()
    class Derived extends Mailer {
      override readonly prefix = 'derived';
    }
    const app = await startMemoryApp({ providers: [Derived] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['derived', 1]]);
  });

  it('that a subclass overrides without a decorator', async () => {
    @Injectable()
    class Derived extends Mailer {
      override send(payload: unknown): void {
        calls.push(['override', payload]);
      }
    }
    const app = await startMemoryApp({ providers: [Derived] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['override', 1]]);
  });

  it('under the type that an overriding method names', async () => {
    @Injectable()
    class Derived extends Mailer {
      @JobHandler('derived')
      override send(): void {}
    }
    const app = await startMemoryApp({ providers: [Derived] });

    expect(knownTypes(app)).toEqual(['derived']);
  });

  it('whose method another decorator has replaced', async () => {
    @Injectable()
    class Traced {
      @Replacing()
      @JobHandler('traced')
      run(payload: unknown): void {
        calls.push(payload);
      }
    }
    const app = await startMemoryApp({ providers: [Traced] });

    await runJob(app, 'traced', 1);

    expect(calls).toEqual(['replaced', 1]);
  });

  it('named by a symbol', async () => {
    const run = Symbol('run');
    @Injectable()
    class Symbolic {
      @JobHandler('symbolic')
      [run](payload: unknown): void {
        calls.push(payload);
      }
    }
    const app = await startMemoryApp({ providers: [Symbolic] });

    await runJob(app, 'symbolic', 1);

    expect(calls).toEqual([1]);
  });

  it('that are private', async () => {
    @Injectable()
    class Private {
      @JobHandler('private')
      private run(payload: unknown): void {
        calls.push(payload);
      }

      readonly use = (): unknown => this.run;
    }
    const app = await startMemoryApp({ providers: [Private] });

    await runJob(app, 'private', 1);

    expect(calls).toEqual([1]);
  });

  it('that are static, and calls them on the class', async () => {
    @Injectable()
    class Static {
      static readonly label = 'static';

      @JobHandler('static')
      static run(payload: unknown): void {
        calls.push([this.label, payload]);
      }
    }
    const app = await startMemoryApp({ providers: [Static] });

    await runJob(app, 'static', 1);

    expect(calls).toEqual([['static', 1]]);
  });

  it('of what a factory makes', async () => {
    const app = await startMemoryApp({ providers: [{ provide: 'MAILER', useFactory: async () => new Mailer() }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('of a value', async () => {
    const app = await startMemoryApp({ providers: [{ provide: 'MAILER', useValue: new Mailer() }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('of a value behind a Proxy', async () => {
    const app = await startMemoryApp({ providers: [{ provide: 'MAILER', useValue: new Proxy(new Mailer(), {}) }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('of a class that stands for another token', async () => {
    const app = await startMemoryApp({ providers: [{ provide: 'MAILER', useClass: Mailer }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('on an object that stands for a class with handlers, as test doubles do', async () => {
    const double = { send: (payload: unknown) => calls.push(['double', payload]) };
    const app = await startMemoryApp({ providers: [{ provide: Mailer, useValue: double }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['double', 1]]);
  });

  it('on a class that stands for a class with handlers', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Double {
      send(payload: unknown): void {
        calls.push(['double', payload]);
      }
    }
    const app = await startMemoryApp({ providers: [{ provide: Mailer, useClass: Double }] });

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['double', 1]]);
  });

  it('of a method that was replaced on the instance, as spies do', async () => {
    const app = await startMemoryApp({ providers: [Mailer] });
    app.get(Mailer).send = (payload) => calls.push(['spy', payload]);

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['spy', 1]]);
  });

  it('that another decorator turned into an accessor', async () => {
    const Bound = (_target: object, _method: string, { value }: PropertyDescriptor): PropertyDescriptor => ({
      configurable: true,
      get: () => value as unknown,
    });
    @Injectable()
    class WithAccessor {
      @JobHandler('bound')
      @Bound
      run(payload: unknown): void {
        calls.push(payload);
      }
    }
    const app = await startMemoryApp({ providers: [WithAccessor] });

    await runJob(app, 'bound', 1);

    expect(calls).toEqual([1]);
  });
});

describe('the explorer registers a method once', () => {
  it('when two modules provide its class', async () => {
    @Module({ providers: [Mailer] })
    class OneModule {}
    @Module({ providers: [Mailer] })
    class OtherModule {}
    const app = await startMemoryApp({ imports: [OneModule, OtherModule] });

    await runJob(app, 'mail', 1);

    expect(calls).toHaveLength(1);
  });

  it('when its provider has an alias', async () => {
    const app = await startMemoryApp({ providers: [Mailer, { provide: 'ALIAS', useExisting: Mailer }] });

    await runJob(app, 'mail', 1);

    expect(calls).toHaveLength(1);
  });

  it('when an alias under the name of a base class stands for a request-scoped provider', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends Mailer {}
    const app = await startMemoryApp({ providers: [Scoped, { provide: Mailer, useExisting: Scoped }] });

    await runJob(app, 'mail', 1);

    expect(calls).toHaveLength(1);
  });

  it('when a factory makes another object of its class', async () => {
    const app = await startMemoryApp({ providers: [Mailer, { provide: 'OTHER', useFactory: () => new Mailer() }] });

    expect(knownTypes(app)).toEqual(['mail']);
  });
});

describe('the explorer leaves alone', () => {
  it('getters, which it never evaluates', async () => {
    let evaluations = 0;
    const evaluated = (): void => void (evaluations += 1);
    class Base {
      get inherited(): never {
        evaluated();
        throw new Error('a getter was evaluated');
      }
    }
    @Injectable()
    class WithGetters extends Base {
      static get ofClass(): never {
        evaluated();
        throw new Error('a getter was evaluated');
      }

      get own(): never {
        evaluated();
        throw new Error('a getter was evaluated');
      }

      @JobHandler('with_getters')
      run(): void {}
    }
    const value = Object.defineProperty({}, 'trap', { enumerable: true, get: () => evaluated() });

    const app = await startMemoryApp({ providers: [WithGetters, { provide: 'VALUE', useValue: value }] });

    expect(knownTypes(app)).toEqual(['with_getters']);
    expect(evaluations).toBe(0);
  });

  it.each([
    ['an object without a prototype', { useValue: Object.create(null) }],
    ['a string', { useValue: 'text' }],
    ['a number', { useValue: 1 }],
    ['null', { useValue: null }],
    ['undefined', { useValue: undefined }],
    ['a symbol', { useValue: Symbol('value') }],
    ['a function', { useValue: () => 1 }],
    ['a class as a value', { useValue: Mailer }],
    ['a promise', { useValue: Promise.resolve(new Mailer()) }],
    [
      'a Proxy that refuses to be looked at',
      { useFactory: () => new Proxy({}, { getPrototypeOf: refuse, has: refuse }) },
    ],
  ])('%s', async (_what, provider) => {
    const app = await startMemoryApp({ providers: [{ provide: 'VALUE', ...provider }] });

    expect(knownTypes(app)).toEqual([]);
  });

  it.each([
    ['a value', { useValue: {} }],
    ['a class', { useClass: Injectable({ scope: Scope.REQUEST })(class Double {}) ?? class {} }],
  ])('%s that stands for a class with handlers and lacks the method', async (_what, provider) => {
    const app = await startMemoryApp({ providers: [{ provide: Mailer, ...provider }] });

    expect(knownTypes(app)).toEqual([]);
  });
});

describe('the explorer refuses', () => {
  it('two methods for one type, and names both', async () => {
    @Injectable()
    class Postman {
      @JobHandler('mail')
      deliver(): void {}
    }

    await expect(startMemoryApp({ providers: [Mailer, Postman] })).rejects.toThrow(
      new DuplicateHandlerError(
        "job type 'mail' has two handlers, Mailer.send and Postman.deliver; keep one of them, or give one another type",
      ),
    );
  });

  it('two methods of one class for one type', async () => {
    @Injectable()
    class Twice {
      @JobHandler('twice')
      first(): void {}

      @JobHandler('twice')
      second(): void {}
    }

    await expect(startMemoryApp({ providers: [Twice] })).rejects.toThrow(/Twice\.first and Twice\.second/);
  });

  it('a base class and a subclass that are both provided, since nobody knows which one is meant', async () => {
    @Injectable()
    class Derived extends Mailer {}

    await expect(startMemoryApp({ providers: [Mailer, Derived] })).rejects.toThrow(/Mailer\.send and Derived\.send/);
  });

  it('a handler bound to an instance that no module has', async () => {
    @Injectable()
    class Bound {
      @JobHandler('bound', { instance: 'reprots' })
      run(): void {}
    }
    const reports = JobsModule.forRoot({ name: 'reports', persistent: false });

    await expect(startApp({ imports: [reports], providers: [Bound] })).rejects.toThrow(
      new InvalidOptionError(
        "@JobHandler on Bound.run is bound to the instance 'reprots', but no JobsModule has this name (there is 'reports'): " +
          "import JobsModule.forRoot({ name: 'reprots' }), or mend the option instance",
      ),
    );
  });
});

describe('a handler bound to an instance', () => {
  it('serves that instance only', async () => {
    @Injectable()
    class Bound {
      @JobHandler('bound', { instance: 'reports' })
      run(): void {}
    }
    const app = await startMemoryApp({
      imports: [JobsModule.forRoot({ name: 'reports', persistent: false })],
      providers: [Bound, Mailer],
    });
    const reports: unknown = app.get("JobQueue of JobsModule.forRoot({ name: 'reports' })");

    expect(knownTypes(app)).toEqual(['mail']);
    expect(reports instanceof JobQueue && reports.handlers.types()).toEqual(['bound', 'mail']);
  });
});

describe('modules that are loaded later', () => {
  @Module({ providers: [Mailer] })
  class LazyModule {}

  it('have their handlers found without help', async () => {
    const app = await startMemoryApp({});
    await app.get(LazyModuleLoader).load(() => LazyModule);

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('have them called only when their providers are made', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    @Injectable()
    class Slow {
      constructor(@Inject('DEPENDENCY') private readonly dependency: unknown) {}

      @JobHandler('slow')
      run(): void {
        calls.push(this.dependency);
      }
    }
    let isAsked = false;
    const useFactory = (): Promise<string> => {
      isAsked = true;
      return gate.then(() => 'made');
    };
    @Module({ providers: [Slow, { provide: 'DEPENDENCY', useFactory }] })
    class SlowModule {}
    const app = await startMemoryApp({});
    const { handlers } = app.get(JobQueue);
    const loading = app.get(LazyModuleLoader).load(() => SlowModule);
    await until(() => isAsked);
    expect(() => app.get(JobQueue).submit('slow')).toThrow('no handler is registered');

    open();
    await until(() => handlers.get('slow') !== undefined);
    await loading;
    await runJob(app, 'slow');

    expect(calls).toEqual(['made']);
  });

  it('are found when their own imports take a while', async () => {
    let open: () => void = () => undefined;
    const late = new Promise<DynamicModule>((resolve) => (open = () => resolve({ module: class LateModule {} })));
    const lazy = { module: class LazyFeature {}, imports: [late], providers: [Mailer] };
    const app = await startMemoryApp({});
    const { size } = app.get(ModulesContainer);
    const loading = app.get(LazyModuleLoader).load(() => lazy);
    await until(() => app.get(ModulesContainer).size > size);
    expect(() => app.get(JobQueue).submit('mail')).toThrow('no handler is registered');

    open();
    await loading;
    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
  });

  it('may hold request-scoped handlers', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @JobHandler('scoped')
      run(payload: unknown): void {
        calls.push(payload);
      }
    }
    @Module({ providers: [Scoped] })
    class ScopedModule {}
    const app = await startMemoryApp({});
    await app.get(LazyModuleLoader).load(() => ScopedModule);

    await runJob(app, 'scoped', 1);

    expect(calls).toEqual([1]);
  });

  it('cannot take a type that has a handler: the first one stays, and the log names both', async () => {
    @Injectable()
    class Usurper {
      @JobHandler('mail')
      deliver(): void {
        calls.push('usurper');
      }
    }
    @Module({ providers: [Usurper] })
    class UsurpingModule {}
    const logger = new RecordingLogger();
    const app = await startMemoryApp({ providers: [Mailer] }, {}, logger);
    await app.get(LazyModuleLoader).load(() => UsurpingModule);

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
    expect(logger.ofJobs()).toContainEqual(expect.stringMatching(/^error: .*Mailer\.send and Usurper\.deliver/));
  });

  it('cannot stop the others when they cannot be looked at, as those of some Nest whose provider failed', async () => {
    @Module({})
    class BrokenModule {}
    const logger = new RecordingLogger();
    const app = await startMemoryApp({ providers: [Mailer] }, {}, logger);
    await app.get(LazyModuleLoader).load(() => BrokenModule);
    const broken = [...app.get(ModulesContainer).values()].find(({ metatype }) => metatype === BrokenModule);
    for (const wrapper of broken?.providers.values() ?? []) wrapper.getInstanceByContextId = refuse;

    await runJob(app, 'mail', 1);

    expect(calls).toEqual([['mail', 1]]);
    expect(logger.ofJobs()).toContainEqual('error: looked at');
  });
});

describe('a job that is submitted by type while the app starts', () => {
  @Injectable()
  class Early {
    constructor(queue: JobQueue) {
      queue.submit('mail', 'early');
    }
  }

  it('waits for its handler', async () => {
    const app = await startMemoryApp({ providers: [Early, Mailer] });

    await app.get(JobQueue).join();

    expect(calls).toEqual([['mail', 'early']]);
  });

  it('does not make the log list handlers twice', async () => {
    const logger = new RecordingLogger();
    await startMemoryApp({ providers: [Early], imports: [{ module: class Late {}, providers: [Mailer] }] }, {}, logger);

    expect(logger.ofJobs()).toEqual(["log: 1 job handler: 'mail' (Mailer.send)"]);
  });

  it('does not hide two handlers for one type', async () => {
    @Injectable()
    class Postman {
      @JobHandler('mail')
      deliver(): void {}
    }

    await expect(startMemoryApp({ providers: [Early, Mailer, Postman] })).rejects.toThrow(DuplicateHandlerError);
  });
});

describe('the log', () => {
  it('lists every handler in one line', async () => {
    @Injectable()
    class Other {
      @JobHandler('other')
      run(): void {}
    }
    const logger = new RecordingLogger();
    await startMemoryApp({ providers: [Mailer, Other] }, {}, logger);

    expect(logger.ofJobs()).toEqual(["log: 2 job handlers: 'mail' (Mailer.send), 'other' (Other.run)"]);
  });

  it('lists those of a module that is loaded later', async () => {
    @Module({ providers: [Mailer] })
    class LazyModule {}
    const logger = new RecordingLogger();
    const app = await startMemoryApp({}, {}, logger);
    await app.get(LazyModuleLoader).load(() => LazyModule);

    app.get(JobQueue).submit('mail');

    expect(logger.ofJobs()).toEqual([
      'log: no job handlers: no provider or controller has a method with @JobHandler for this queue',
      "log: 1 job handler: 'mail' (Mailer.send)",
    ]);
  });

  it('says so when there is none', async () => {
    const logger = new RecordingLogger();
    await startMemoryApp({}, {}, logger);

    expect(logger.ofJobs()).toEqual([
      'log: no job handlers: no provider or controller has a method with @JobHandler for this queue',
    ]);
  });
});
