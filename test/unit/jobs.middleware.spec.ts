import { Injectable, Module, Scope } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  InjectJobQueue,
  InvalidOptionError,
  JobHandler,
  JobQueue,
  JobsModule,
  MiddlewareError,
  type EnqueuedJob,
  type JobContext,
  type JobMiddleware,
} from 'nestjs-jobs';
import { closeApps, runJob, startMemoryApp } from '../support/jobs-app.js';

/** What happened, in order. */
let log: string[] = [];

beforeEach(() => {
  log = [];
});

afterEach(closeApps);

@Injectable()
class Work {
  @JobHandler('work')
  work(): void {
    log.push('work');
  }
}

@Injectable()
class Names {
  readonly name: string = 'injected';
}

@Injectable()
class Tracing implements JobMiddleware {
  constructor(private readonly names: Names) {}

  enqueue(jobs: readonly EnqueuedJob[], next: () => Promise<void>): unknown {
    log.push(`enqueue ${this.names.name} ${String(jobs[0]?.type)}`);
    return next();
  }

  run(job: JobContext, next: () => Promise<unknown>): unknown {
    log.push(`run ${this.names.name} ${job.type}`);
    return next();
  }
}

describe('the middleware of a JobsModule', () => {
  it('may be a class that the app provides', async () => {
    @Module({ providers: [Names, Tracing] })
    class TracingModule {}
    const app = await startMemoryApp({ imports: [TracingModule], providers: [Work] }, { middleware: [Tracing] });

    await runJob(app, 'work');

    expect(log).toEqual(['enqueue injected work', 'run injected work', 'work']);
  });

  it('stands around the middleware of a queue', async () => {
    const named = (name: string): JobMiddleware => ({ run: (_job, next) => (log.push(name), next()) });
    const app = await startMemoryApp(
      { providers: [Work] },
      { middleware: [named('module')], memory: { maxRetries: 0, middleware: [named('queue')] } },
    );

    await runJob(app, 'work');

    expect(log).toEqual(['module', 'queue', 'work']);
  });

  it('may be replaced by a test double without the method', async () => {
    @Module({
      imports: [JobsModule.forRoot({ persistent: false, middleware: [Tracing] })],
      providers: [Names, Tracing, Work],
    })
    class AppModule {}
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(Tracing)
      .useValue({})
      .compile();
    await module.init();

    module.get(JobQueue).submit('work');
    await module.get(JobQueue).join();
    await module.close();

    expect(log).toEqual(['work']);
  });

  it('may hold what is no JSON', async () => {
    const circle: JobMiddleware & { self?: unknown } = { run: (_job, next) => next() };
    circle.self = circle;

    await startMemoryApp({}, { middleware: [circle], memory: { middleware: [circle] } });
  });

  it('refuses to start with a class that no module provides', async () => {
    await expect(startMemoryApp({ providers: [Work] }, { middleware: [Tracing] })).rejects.toThrow(
      /class Tracing, which the app does not provide/,
    );
  });

  it('refuses to start with a request-scoped class', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      run(): void {}
    }

    await expect(startMemoryApp({ providers: [Scoped] }, { middleware: [Scoped] })).rejects.toThrow(InvalidOptionError);
  });

  it('refuses what can be no middleware', async () => {
    await expect(startMemoryApp({}, { middleware: [Names as never] })).rejects.toThrow(
      /middleware\[0\] must be an object, or a class of ones/,
    );
  });

  it('says so when a job is submitted before Nest has made it', async () => {
    @Injectable()
    class Hasty {
      constructor(@InjectJobQueue() queue: JobQueue) {
        queue.submit(() => undefined);
      }
    }
    @Module({ providers: [{ provide: Names, useFactory: () => new Promise(() => undefined) }, Tracing] })
    class NeverReady {}

    await expect(
      startMemoryApp({ imports: [NeverReady], providers: [Hasty] }, { middleware: [Tracing] }),
    ).rejects.toThrow(MiddlewareError);
  });
});
