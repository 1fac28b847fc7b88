import { Inject, Injectable, Module, Optional } from '@nestjs/common';
import { LazyModuleLoader, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  DuplicateJobsModuleError,
  getJobQueueToken,
  getPersistentJobQueueToken,
  InjectJobQueue,
  InjectPersistentJobQueue,
  InvalidOptionError,
  JobHandler,
  JobQueue,
  JobsError,
  JobsAdmin,
  JobsModule,
  MissingDataSourceError,
  PersistentJobQueue,
  PersistentQueueDisabledError,
  type JobContext,
  type JobsModuleAsyncOptions,
  type JobsModuleOptions,
  type JobsOptionsFactory,
} from 'nestjs-jobs';
import { closeApps, RecordingLogger, runJob, startApp, startMemoryApp } from '../support/jobs-app.js';

const memoryOnly: JobsModuleOptions = { persistent: false };

@Injectable()
class Settings {
  readonly maxQueued = 1;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class OptionsFactory implements JobsOptionsFactory {
  constructor(private readonly settings: Settings) {}

  createJobsOptions(): JobsModuleOptions {
    return { memory: { maxQueued: this.settings.maxQueued }, persistent: false, autoStart: false };
  }
}

afterEach(closeApps);

describe('JobsModule', () => {
  it('lets every module inject its queues', async () => {
    @Injectable()
    class Service {
      constructor(readonly queue: JobQueue) {}
    }
    @Module({ providers: [Service] })
    class FeatureModule {}

    const app = await startMemoryApp({ imports: [FeatureModule] });

    expect(app.get(Service).queue).toBe(app.get(JobQueue));
  });

  it('is refused without forRoot, beside another one, too', async () => {
    @Module({ imports: [JobsModule] })
    class FeatureModule {}
    const alone = Test.createTestingModule({ imports: [JobsModule] }).compile();
    const beside = Test.createTestingModule({ imports: [JobsModule.forRoot(memoryOnly), FeatureModule] }).compile();

    await expect(alone).rejects.toThrow(InvalidOptionError);
    await expect(alone).rejects.toThrow('write JobsModule.forRoot() in the imports of the root module');
    await expect(beside).rejects.toThrow('JobsModule is imported without forRoot');
  });

  it('lets a module that is loaded later inject its queues', async () => {
    @Injectable()
    class Service {
      constructor(readonly queue: JobQueue) {}
    }
    @Module({ providers: [Service] })
    class LazyModule {}
    const app = await startMemoryApp({});

    const lazy = await app.get(LazyModuleLoader).load(() => LazyModule);

    expect(lazy.get(Service).queue).toBe(app.get(JobQueue));
  });

  it('has queues of their own for each name', async () => {
    @Injectable()
    class Service {
      @InjectJobQueue('reports')
      readonly property!: JobQueue;

      constructor(
        readonly queue: JobQueue,
        @InjectJobQueue('reports') readonly reports: JobQueue,
        @InjectPersistentJobQueue('reports') @Optional() readonly persistent?: PersistentJobQueue,
      ) {}
    }
    const reports = JobsModule.forRoot({ name: 'reports', persistent: false });

    const service = (await startMemoryApp({ imports: [reports], providers: [Service] })).get(Service);

    expect(service.reports).toBeInstanceOf(JobQueue);
    expect(service.reports).not.toBe(service.queue);
    expect(service.property).toBe(service.reports);
  });

  it("is called 'default' without a name", () => {
    expect(getJobQueueToken('default')).toBe(JobQueue);
    expect(getPersistentJobQueueToken()).toBe(PersistentJobQueue);
  });

  it('names what is missing when a queue is injected that no module has', async () => {
    @Injectable()
    class Service {
      constructor(@InjectJobQueue('reports') readonly queue: JobQueue) {}
    }

    await expect(startMemoryApp({ providers: [Service] })).rejects.toThrow(
      "JobQueue of JobsModule.forRoot({ name: 'reports' })",
    );
  });

  it.each([['a b'], [''], [7], [null]])('refuses the name %j', (name) => {
    expect(() => JobsModule.forRoot({ name: name as string })).toThrow(InvalidOptionError);
  });

  it.each([
    [{ worker: 1 }, "JobsModule has no option 'worker'; it has name, memory, persistent, autoStart"],
    [
      { workers: 1 },
      "JobsModule has no option 'workers'; it is one of a queue: { persistent: { workers: … } } or { memory: { workers: … } }",
    ],
    [{ queues: {} }, "JobsModule has no option 'queues'; it is one of a queue: { persistent: { queues: … } }"],
    [{ memory: { workers: 0 } }, 'memory.workers must be a whole number from 1 to 10000, got 0'],
    [{ memory: 4 }, 'memory must be an object of options, got 4'],
    [{ memory: false }, 'memory must be an object of options, got false'],
    [{ persistent: { pollInterval: 0 } }, 'persistent.pollInterval must be a duration'],
    [{ persistent: 'no' }, "persistent must be an object of options or false, got 'no'"],
    [{ persistent: { dataSource: 5 } }, 'persistent.dataSource must be a TypeORM DataSource or the name of one, got 5'],
    [{ autoStart: 'yes', persistent: false }, "autoStart must be true or false, got 'yes'"],
    ['default', "JobsModule must be an object, got 'default'"],
  ])('refuses the options %j at the start', async (options, message) => {
    const start = startApp({ imports: [JobsModule.forRoot(options as JobsModuleOptions)] });

    await expect(start).rejects.toThrow(message);
    await expect(start).rejects.toBeInstanceOf(InvalidOptionError);
  });
});

describe('the persistent queue', () => {
  /** Stands for TypeORM's DataSource, whose class name is the token of the default one. */
  class DataSource {
    readonly isInitialized = false;
    readonly options = {};
    readonly createQueryRunner = (): undefined => undefined;
  }

  it('fails the start of an app without a DataSource', async () => {
    await expect(startApp({ imports: [JobsModule.forRoot()] })).rejects.toThrow(MissingDataSourceError);
  });

  it('fails the start of an app whose DataSource is not initialised', async () => {
    const start = startApp({ imports: [JobsModule.forRoot()], providers: [DataSource] });

    await expect(start).rejects.toThrow('found the TypeORM DataSource, but it is not initialised');
  });
});

describe('the same JobsModule twice', () => {
  it('does not start, and says what to do', async () => {
    @Module({ imports: [JobsModule.forRoot(memoryOnly)] })
    class BillingModule {}

    await expect(startMemoryApp({ imports: [BillingModule] })).rejects.toThrow(
      new DuplicateJobsModuleError(
        "JobsModule is registered 2 times under the name 'default': call forRoot() once, in the root module " +
          '(it is global, so every module can inject its queues), or give each its own name, as in ' +
          "JobsModule.forRoot({ name: 'reports' })",
      ),
    );
  });

  it('is one where it is the same object', async () => {
    const jobs = JobsModule.forRoot(memoryOnly);
    @Module({ imports: [jobs] })
    class BillingModule {}

    const app = await startApp({ imports: [jobs, BillingModule] });

    expect(app.get(JobQueue)).toBeInstanceOf(JobQueue);
  });

  it('does not start where one is asynchronous', async () => {
    const other = JobsModule.forRootAsync({ useFactory: () => memoryOnly });

    await expect(startMemoryApp({ imports: [other] })).rejects.toThrow(DuplicateJobsModuleError);
  });

  it('does not start where Nest tells modules apart by what they are made of, and the options differ', async () => {
    const imports = [1, 2].map((workers) => JobsModule.forRoot({ persistent: false, memory: { workers } }));
    const module = Test.createTestingModule({ imports }, { moduleIdGeneratorAlgorithm: 'deep-hash' });

    await expect(module.compile()).rejects.toThrow(DuplicateJobsModuleError);
  });
});

describe('a DataSource among the options, which refers to itself,', () => {
  const dataSource: Record<string, unknown> = { isInitialized: true, options: {}, createQueryRunner: undefined };
  dataSource['manager'] = { connection: dataSource };
  const imports = [JobsModule.forRoot({ persistent: { dataSource } })];

  it('is no trouble where Nest tells modules apart by what they are made of', async () => {
    const module = await Test.createTestingModule({ imports }, { moduleIdGeneratorAlgorithm: 'deep-hash' }).compile();

    expect(module.get(PersistentJobQueue)).toBeInstanceOf(PersistentJobQueue);
  });

  it('is no trouble where Nest takes a snapshot', async () => {
    const root = { module: class AppModule {}, imports };
    const start = NestFactory.createApplicationContext(root, { snapshot: true, abortOnError: false, logger: false });

    // It is no true DataSource, so the start ends there.
    await expect(start).rejects.toBeInstanceOf(JobsError);
  });
});

describe('the option handlers', () => {
  it('brings what a configuration service says to the handlers, over their own literals', async () => {
    @Injectable()
    class Work {
      readonly retries: number[] = [];

      @JobHandler('work', { maxRetries: 5 })
      work(_payload: unknown, { maxRetries }: JobContext): void {
        this.retries.push(maxRetries);
      }
    }
    const useFactory = ({ maxQueued }: Settings): JobsModuleOptions => ({
      persistent: false,
      memory: { handlers: { work: { maxRetries: maxQueued } } },
    });
    const jobs = JobsModule.forRootAsync({ imports: [SettingsModule], inject: [Settings], useFactory });
    const app = await startApp({ imports: [jobs], providers: [Work] });

    await runJob(app, 'work');

    expect(app.get(Work).retries).toEqual([1]);
  });

  it('warns of a type that no handler is registered for', async () => {
    const logger = new RecordingLogger();

    await startMemoryApp({}, { memory: { handlers: { wrok: { timeout: 5 } } } }, logger);

    expect(logger.ofJobs()).toContain(
      "warn: the option handlers names 'wrok', which no handler here is registered for: mind the spelling",
    );
  });

  it('refuses nonsense when the app starts', async () => {
    const start = startMemoryApp({}, { memory: { handlers: { work: { timeout: -1 } } } });

    await expect(start).rejects.toThrow("memory.handlers['work'].timeout must be a duration");
  });
});

describe('JobsModule.forRootAsync', () => {
  it.each([
    [
      'useFactory',
      {
        inject: [Settings],
        useFactory: ({ maxQueued }: Settings) => ({ ...memoryOnly, autoStart: false, memory: { maxQueued } }),
      },
    ],
    ['useClass', { useClass: OptionsFactory }],
    ['useExisting', { useExisting: OptionsFactory, extraProviders: [OptionsFactory] }],
  ])('takes its options from %s', async (_what, source) => {
    const app = await startApp({ imports: [JobsModule.forRootAsync({ imports: [SettingsModule], ...source })] });
    const queue = app.get(JobQueue);
    queue.submit(() => 1);

    expect(() => queue.submit(() => 1)).toThrow('1 waiting jobs, its limit (maxQueued)');
  });

  it('has queues under its name', async () => {
    const reports = JobsModule.forRootAsync({ name: 'reports', useFactory: async () => memoryOnly });

    const app = await startMemoryApp({ imports: [reports] });

    expect(app.get(getJobQueueToken('reports'))).toBeInstanceOf(JobQueue);
  });

  it('does not start when its factory rejects, and says why', async () => {
    const jobs = JobsModule.forRootAsync({ useFactory: () => Promise.reject(new Error('no configuration')) });

    await expect(startApp({ imports: [jobs] })).rejects.toThrow('no configuration');
  });

  it('refuses a name that its factory makes up', async () => {
    const jobs = JobsModule.forRootAsync({ useFactory: () => ({ ...memoryOnly, name: 'reports' }) });

    await expect(startApp({ imports: [jobs] })).rejects.toThrow(
      "name is 'reports' in the options that forRootAsync was given, but must stand beside useFactory",
    );
  });

  it.each([
    [{}, 'got none'],
    [{ useFactory: () => memoryOnly, useClass: OptionsFactory }, 'got useFactory and useClass'],
    [{ useValue: memoryOnly }, "has no option 'useValue'"],
  ])('refuses %p', (options, message) => {
    expect(() => JobsModule.forRootAsync(options as JobsModuleAsyncOptions)).toThrow(message);
  });
});

describe('persistent: false', () => {
  const message =
    'Service uses PersistentJobQueue, but JobsModule.forRoot({ persistent: false }) does without it: ' +
    'remove persistent: false, or use JobQueue instead';

  it('does not start where something injects the persistent queue', async () => {
    @Injectable()
    class Service {
      constructor(readonly queue: PersistentJobQueue) {}
    }

    await expect(startMemoryApp({ providers: [Service] })).rejects.toThrow(new PersistentQueueDisabledError(message));
  });

  it('does not start where a property or a factory injects it', async () => {
    @Injectable()
    class Service {
      @Inject(PersistentJobQueue)
      readonly queue!: PersistentJobQueue;
    }
    const factory = { provide: 'Service', inject: [PersistentJobQueue], useFactory: () => 1 };

    await expect(startMemoryApp({ providers: [Service] })).rejects.toThrow(message);
    await expect(startMemoryApp({ providers: [factory] })).rejects.toThrow(message);
  });

  it('does not start where something injects the admin of that queue', async () => {
    @Injectable()
    class Service {
      constructor(readonly admin: JobsAdmin) {}
    }

    await expect(startMemoryApp({ providers: [Service] })).rejects.toThrow(message);
  });

  it('starts where the persistent queue is optional', async () => {
    @Injectable()
    class Service {
      constructor(@Optional() readonly queue?: PersistentJobQueue) {}
    }
    const factory = {
      provide: 'FACTORY',
      inject: [{ token: PersistentJobQueue, optional: true }],
      useFactory: () => 1,
    };

    await expect(startMemoryApp({ providers: [Service, factory] })).resolves.toBeDefined();
  });

  it('says why the persistent queue does not work', async () => {
    const app = await startMemoryApp({});

    await expect(app.get(PersistentJobQueue).enqueue('job')).rejects.toThrow(PersistentQueueDisabledError);
  });

  it('names the instance', async () => {
    @Injectable()
    class Service {
      constructor(@InjectPersistentJobQueue('reports') readonly queue: PersistentJobQueue) {}
    }
    const reports = JobsModule.forRoot({ name: 'reports', persistent: false });

    await expect(startMemoryApp({ imports: [reports], providers: [Service] })).rejects.toThrow(
      "JobsModule.forRoot({ name: 'reports', persistent: false }) does without it",
    );
  });
});

describe('a test double', () => {
  it('may stand for a queue, by its token', async () => {
    const double = { submit: () => 'id' };
    const module = await Test.createTestingModule({
      imports: [JobsModule.forRoot({ name: 'reports', persistent: false })],
    })
      .overrideProvider(getJobQueueToken('reports'))
      .useValue(double)
      .compile();

    await module.init();
    await module.close();

    expect(module.get(getJobQueueToken('reports'))).toBe(double);
  });

  it('of the persistent queue makes a database unnecessary', async () => {
    const double = { enqueue: async () => 'id' };
    const module = await Test.createTestingModule({ imports: [JobsModule.forRoot()] })
      .overrideProvider(PersistentJobQueue)
      .useValue(double)
      .compile();

    await expect(module.init()).resolves.toBeDefined();

    await module.close();
  });

  it('of a service with a handler gets its jobs', async () => {
    @Injectable()
    class Mailer {
      @JobHandler('mail')
      send(): void {
        throw new Error('the real one');
      }
    }
    const sent: unknown[] = [];
    const imports = [JobsModule.forRoot(memoryOnly)];
    const module = await Test.createTestingModule({ imports, providers: [Mailer] })
      .overrideProvider(Mailer)
      .useValue({ send: (payload: unknown) => sent.push(payload) })
      .compile();
    await module.init();
    module.get(JobQueue).submit('mail', 1);
    await module.get(JobQueue).join();
    await module.close();

    expect(sent).toEqual([1]);
  });
});
