import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { LazyModuleLoader, REQUEST } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import {
  InvalidHandlerError,
  InvalidJobTypeError,
  InvalidOptionError,
  JobHandler,
  JobQueue,
  JobsModule,
  OnJobEvent,
  type JobEvent,
} from 'nestjs-jobs';
import { closeApps, RecordingLogger, runJob, startApp, startMemoryApp } from '../../support/jobs-app.js';
import { until } from '../../support/until.js';

/** What listeners heard, in order. */
let heard: unknown[] = [];

beforeEach(() => {
  heard = [];
});

afterEach(closeApps);

@Injectable()
class Work {
  @JobHandler('fine')
  fine(): void {}

  @JobHandler('broken')
  broken(): void {
    throw new Error('boom');
  }
}

@Injectable()
class Audit {
  readonly name: string = 'audit';

  @OnJobEvent('completed')
  onCompleted({ kind, job }: JobEvent<'completed'>): void {
    heard.push([this.name, kind, job.type]);
  }
}

/** A listener whose promise nobody looks at. */
function reject(): unknown {
  return Promise.reject(new Error('rejected'));
}

describe('@OnJobEvent', () => {
  it('calls a method of a provider on each event of its kind, and of no other', async () => {
    const app = await startMemoryApp({ providers: [Work, Audit] });
    const queue = app.get(JobQueue);

    for (const type of ['fine', 'broken', 'fine']) queue.submit(type);
    await queue.join();

    expect(heard).toEqual([
      ['audit', 'completed', 'fine'],
      ['audit', 'completed', 'fine'],
    ]);
  });

  it('tells what has happened, and where', async () => {
    @Injectable()
    class Alarm {
      @OnJobEvent('failed')
      onFailed(event: JobEvent<'failed'>): void {
        heard.push(event);
      }
    }
    const app = await startMemoryApp({ providers: [Work, Alarm] });

    await runJob(app, 'broken', { card: 'secret' });

    expect(heard).toEqual([
      {
        kind: 'failed',
        queue: 'memory',
        instance: 'default',
        job: { id: 'memory-1', type: 'broken', attempt: 1, maxRetries: 0 },
        error: 'boom',
        stack: expect.any(String),
        durationMs: expect.any(Number),
      },
    ]);
  });

  it('hears only the types that it asks for', async () => {
    @Injectable()
    class Picky {
      @OnJobEvent('completed', { type: 'fine' })
      one({ job }: JobEvent<'completed'>): void {
        heard.push(`one ${job.type}`);
      }

      @OnJobEvent('completed', { type: ['other', 'fine'] })
      several({ job }: JobEvent<'completed'>): void {
        heard.push(`several ${job.type}`);
      }

      @OnJobEvent('completed', { type: 'other' })
      none(): void {
        heard.push('none');
      }
    }
    const app = await startMemoryApp({ providers: [Work, Picky] });

    await runJob(app, 'fine');

    expect(heard).toEqual(['one fine', 'several fine']);
  });

  it('may stand several times on a method, on an inherited, a static and a symbol-named one, and on a controller', async () => {
    const symbol = Symbol('listener');
    class Base {
      @OnJobEvent('completed')
      @OnJobEvent('failed')
      inherited({ kind }: JobEvent<'completed' | 'failed'>): void {
        heard.push(`inherited ${kind}`);
      }
    }
    @Controller()
    class Derived extends Base {
      @OnJobEvent('completed')
      static ofClass(): void {
        heard.push('static');
      }

      @OnJobEvent('completed')
      [symbol](): void {
        heard.push('symbol');
      }
    }
    const app = await startMemoryApp({ providers: [Work], controllers: [Derived] });

    await runJob(app, 'fine');

    expect(heard.map(String).toSorted()).toEqual(['inherited completed', 'static', 'symbol']);
  });

  it('calls a class once that two modules provide, and not again for an alias', async () => {
    @Module({ providers: [Audit] })
    class Other {}
    const alias = { provide: 'alias', useExisting: Audit };
    const app = await startMemoryApp({ imports: [Other], providers: [Work, Audit, alias] });

    await runJob(app, 'fine');

    expect(heard).toEqual([['audit', 'completed', 'fine']]);
  });

  it('makes a request-scoped listener for each event, and injects the event', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      constructor(@Inject(REQUEST) private readonly event: JobEvent) {}

      @OnJobEvent('completed')
      onCompleted(event: JobEvent<'completed'>): void {
        heard.push(this.event === event);
      }
    }
    const app = await startMemoryApp({ providers: [Work, Scoped] });

    await runJob(app, 'fine');

    await until(() => heard.length === 1);
    expect(heard).toEqual([true]);
  });

  it('finds the listeners of a module that is loaded later', async () => {
    @Module({ providers: [Audit] })
    class Late {}
    const app = await startMemoryApp({ providers: [Work] });
    await app.get(LazyModuleLoader).load(() => Late);

    await runJob(app, 'fine');

    expect(heard).toEqual([['audit', 'completed', 'fine']]);
  });

  it('hears one JobsModule only where it is bound to it', async () => {
    @Injectable()
    class Bound {
      @OnJobEvent('completed', { instance: 'reports' })
      ofReports(): void {
        heard.push('reports');
      }

      @OnJobEvent('completed', { instance: 'default' })
      ofDefault({ instance }: JobEvent): void {
        heard.push(instance);
      }
    }
    const reports = JobsModule.forRoot({ name: 'reports', persistent: false });
    const app = await startMemoryApp({ imports: [reports], providers: [Work, Bound] });

    await runJob(app, 'fine');

    expect(heard).toEqual(['default']);
  });

  it('runs outside of the context in which the job was submitted', async () => {
    const tenant = new AsyncLocalStorage<string>();
    @Injectable()
    class Curious {
      @OnJobEvent('completed')
      look(): void {
        heard.push(tenant.getStore());
      }
    }
    const app = await startMemoryApp({ providers: [Work, Curious] });

    await tenant.run('acme', () => runJob(app, 'fine'));

    expect(heard).toEqual([undefined]);
  });

  it('changes nothing by throwing or rejecting, and is logged once with its name', async () => {
    @Injectable()
    class Clumsy {
      @OnJobEvent('completed')
      throwing(): void {
        throw new Error('thrown');
      }

      @OnJobEvent('completed')
      async rejecting(): Promise<void> {
        throw new Error('rejected');
      }

      @OnJobEvent('completed')
      endless(): Promise<void> {
        return new Promise(() => undefined);
      }
    }
    const logger = new RecordingLogger();
    const app = await startMemoryApp({ providers: [Work, Clumsy, Audit] }, {}, logger);

    await runJob(app, 'fine');
    await new Promise((resolve) => setImmediate(resolve));

    expect(heard).toHaveLength(1);
    expect(logger.ofJobs().filter((line) => line.startsWith('error'))).toEqual([
      expect.stringMatching(/^error: Clumsy\.throwing, .*: thrown; .*said once$/),
      expect.stringMatching(/^error: Clumsy\.rejecting, .*: rejected; .*said once$/),
    ]);
  });

  it.each([
    ['a kind that does not exist', 'faild', {}, InvalidOptionError, "'faild'"],
    ['an option that does not exist', 'failed', { typ: 'x' }, InvalidOptionError, "no option 'typ'"],
    ['a type that can be none', 'failed', { type: '' }, InvalidJobTypeError, 'must not be empty'],
    ['a type for an event of the queue', 'store-down', { type: 'x' }, InvalidOptionError, 'leave it out'],
    ['an instance that can be none', 'failed', { instance: '' }, InvalidOptionError, 'instance'],
  ])('refuses %s', (_what, kind, options: object, errorClass, text) => {
    class Host {
      run(): void {}
    }
    const decorate = (): void =>
      OnJobEvent(kind as 'failed', options)(Host.prototype, 'run', { value: Host.prototype.run });

    expect(decorate).toThrow(errorClass);
    expect(decorate).toThrow(text);
  });

  it('refuses what is no method', () => {
    class Host {
      field = 1;
    }

    expect(() => OnJobEvent('failed')(Host.prototype, 'field', undefined as never)).toThrow(InvalidHandlerError);
  });

  it('refuses to start bound to a JobsModule that does not exist', async () => {
    @Injectable()
    class Lost {
      @OnJobEvent('failed', { instance: 'nowhere' })
      onFailed(): void {}
    }

    await expect(startMemoryApp({ providers: [Lost] })).rejects.toThrow(/@OnJobEvent on Lost\.onFailed .*'nowhere'/);
  });
});

describe('@nestjs/event-emitter, where the app has it', () => {
  it('emits each event as jobs.<kind>', async () => {
    @Injectable()
    class Subscriber {
      @OnEvent('jobs.completed')
      onCompleted({ job }: JobEvent<'completed'>): void {
        heard.push(`completed ${job.type}`);
      }

      @OnEvent('jobs.failed')
      onFailed({ error }: JobEvent<'failed'>): void {
        heard.push(`failed ${error}`);
      }
    }
    const app = await startMemoryApp({ imports: [EventEmitterModule.forRoot()], providers: [Work, Subscriber] });
    await app.init();

    await runJob(app, 'fine');
    expect(heard).toEqual(['completed fine']);
  });

  it('is not hurt by its listeners', async () => {
    const logger = new RecordingLogger();
    const imports = [
      EventEmitterModule.forRoot(),
      JobsModule.forRoot({ memory: { maxRetries: 0 }, persistent: false }),
    ];
    const app = await startApp({ imports, providers: [Work, Audit] }, logger);
    app.get(EventEmitter2).on('jobs.completed', reject);
    app.get(EventEmitter2).on('jobs.completed', () => {
      throw new Error('thrown');
    });

    await runJob(app, 'fine');
    await new Promise((resolve) => setImmediate(resolve));

    expect(heard).toHaveLength(1);
    expect(logger.ofJobs().filter((line) => line.startsWith('error'))).toHaveLength(1);
  });
});
