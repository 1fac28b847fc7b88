import {
  Catch,
  ForbiddenException,
  Inject,
  Injectable,
  ParseIntPipe,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, REQUEST } from '@nestjs/core';
import { IsInt } from 'class-validator';
import {
  InvalidHandlerError,
  InvalidOptionError,
  JobHandler,
  JobQueue,
  type JobContext,
  type JobEvent,
} from 'nestjs-jobs';
import { map, of, tap, type Observable } from 'rxjs';
import { closeApps, RecordingLogger, runJob, startMemoryApp } from '../../support/jobs-app.js';

/** What happened, in order. */
let log: unknown[] = [];

beforeEach(() => {
  log = [];
});

afterEach(closeApps);

@Injectable()
class Names {
  readonly name: string = 'injected';
}

@Injectable()
class Guard implements CanActivate {
  constructor(private readonly names: Names) {}

  canActivate(context: ExecutionContext): boolean {
    const [payload, job] = context.getArgs<[unknown, JobContext]>();
    log.push(['guard', this.names.name, context.getType(), payload, job.type]);
    log.push([context.getClass().name, context.getHandler().name]);
    return payload !== 'forbidden';
  }
}

@Injectable()
class Interceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    log.push('before');
    return next.handle().pipe(tap(() => log.push('after')));
  }
}

class Upper implements PipeTransform {
  transform(value: unknown): unknown {
    return typeof value === 'string' ? value.toUpperCase() : value;
  }
}

@Catch()
class Filter implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): unknown {
    log.push(['filter', error.message, host.getType()]);
    return error.message === 'swallow' ? true : undefined;
  }
}

@Injectable()
@UseGuards(Guard)
class Work {
  @JobHandler('work', { enhancers: true })
  @UseInterceptors(Interceptor)
  @UsePipes(Upper)
  @UseFilters(Filter)
  work(payload: string, job: JobContext): void {
    log.push(['work', payload, job.attempt]);
    if (payload === 'BOOM' || payload === 'SWALLOW') throw new Error(payload.toLowerCase());
  }

  @JobHandler('plain')
  plain(payload: unknown): void {
    log.push(['plain', payload]);
  }
}

/** Runs a job and returns how it ended. */
async function endOf(app: Awaited<ReturnType<typeof startMemoryApp>>, type: string, payload?: unknown) {
  const events: JobEvent[] = [];
  app
    .get(JobQueue)
    .observe()
    .subscribe((event) => events.push(event));
  await runJob(app, type, payload);
  return events.at(-1);
}

describe('enhancers', () => {
  it('of method and class run around a handler that wants them, in the order of Nest', async () => {
    const app = await startMemoryApp({ providers: [Names, Work] });

    await runJob(app, 'work', 'text');

    expect(log).toEqual([
      ['guard', 'injected', 'jobs', 'text', 'work'],
      ['Work', 'work'],
      'before',
      ['work', 'TEXT', 1],
      'after',
    ]);
  });

  it('do not run around others', async () => {
    const app = await startMemoryApp({ providers: [Names, Work] });

    await runJob(app, 'plain', 'text');

    expect(log).toEqual([['plain', 'text']]);
  });

  it('run around all handlers of a module that wants them, except those that do not', async () => {
    @Injectable()
    @UseInterceptors(Interceptor)
    class Others {
      @JobHandler('with')
      with(): void {
        log.push('with');
      }

      @JobHandler('without', { enhancers: false })
      without(): void {
        log.push('without');
      }
    }
    const app = await startMemoryApp({ providers: [Others] }, { enhancers: true });
    const queue = app.get(JobQueue);

    queue.submit('with');
    queue.submit('without');
    await queue.join();

    expect(log.map(String).toSorted()).toEqual(['after', 'before', 'with', 'without']);
  });

  it('make the attempt fail with a clear error where a guard says no', async () => {
    const app = await startMemoryApp({ providers: [Names, Work] });

    const end = await endOf(app, 'work', 'forbidden');

    expect(end).toMatchObject({ kind: 'failed', error: 'a guard refused Work.work' });
    expect(log).not.toContainEqual(expect.arrayContaining(['work', 'FORBIDDEN']));
  });

  it('are retried, like any error', async () => {
    const app = await startMemoryApp(
      { providers: [Names, Work] },
      { memory: { maxRetries: 2, backoff: { initial: 0 } } },
    );

    await runJob(app, 'work', 'forbidden');

    expect(log.filter((entry) => Array.isArray(entry) && entry[0] === 'guard')).toHaveLength(3);
  });

  it('complete the job where a filter returns something, and leave the error where it returns nothing', async () => {
    const app = await startMemoryApp({ providers: [Names, Work] });

    expect(await endOf(app, 'work', 'swallow')).toMatchObject({ kind: 'completed' });
    const other = await startMemoryApp({ providers: [Names, Work] });
    expect(await endOf(other, 'work', 'boom')).toMatchObject({ kind: 'failed', error: 'boom' });
    expect(log).toContainEqual(['filter', 'boom', 'jobs']);
  });

  it('log no error beside the queue', async () => {
    @Injectable()
    class Broken {
      @JobHandler('broken', { enhancers: true })
      broken(): void {
        throw new Error('boom');
      }
    }
    const logger = new RecordingLogger();
    const app = await startMemoryApp({ providers: [Broken] }, {}, logger);

    await runJob(app, 'broken');

    expect(logger.lines.filter((line) => line.includes('error: '))).toHaveLength(1);
  });

  it('may be global, and injected', async () => {
    class Order {
      @IsInt()
      count!: number;
    }
    @Injectable()
    class Shop {
      @JobHandler('order', { enhancers: true })
      order(payload: Order, job: JobContext): void {
        log.push(['order', payload instanceof Order, payload.count, job.attempt]);
      }
    }
    const providers = [
      Names,
      Shop,
      { provide: APP_GUARD, useClass: Guard },
      { provide: APP_INTERCEPTOR, useClass: Interceptor },
      { provide: APP_PIPE, useValue: new ValidationPipe({ transform: true }) },
      { provide: APP_FILTER, useClass: Filter },
    ];
    const app = await startMemoryApp({ providers });
    expect(await endOf(app, 'order', { count: 1 })).toMatchObject({ kind: 'completed' });
    const other = await startMemoryApp({ providers });
    expect(await endOf(other, 'order', { count: 'x' })).toMatchObject({ kind: 'failed' });

    expect(log).toContainEqual(['order', true, 1, 1]);
    expect(log).toContainEqual(['guard', 'injected', 'jobs', { count: 1 }, 'order']);
    expect(log).toContainEqual(['filter', 'Bad Request Exception', 'jobs']);
  });

  it('leave the job to no pipe', async () => {
    @Injectable()
    class Numbers {
      @JobHandler('number', { enhancers: true })
      @UsePipes(ParseIntPipe)
      number(payload: number, job: JobContext): void {
        log.push([payload, job.type]);
      }
    }
    const app = await startMemoryApp({ providers: [Numbers] });

    await runJob(app, 'number', '7');

    expect(log).toEqual([[7, 'number']]);
  });

  it('may change what a handler returns, or answer in its place', async () => {
    class Instead implements NestInterceptor {
      intercept(): Observable<unknown> {
        return of('instead').pipe(map((value) => (log.push(value), value)));
      }
    }
    @Injectable()
    class Skipped {
      @JobHandler('skipped', { enhancers: true })
      @UseInterceptors(Instead)
      skipped(): void {
        log.push('handler');
      }
    }
    const app = await startMemoryApp({ providers: [Skipped] });

    expect(await endOf(app, 'skipped')).toMatchObject({ kind: 'completed' });
    expect(log).toEqual(['instead']);
  });

  it('are made for each attempt where the handler or they are request-scoped', async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class ScopedGuard implements CanActivate {
      private readonly number = (made += 1);

      constructor(@Inject(REQUEST) private readonly job: JobContext) {}

      canActivate(context: ExecutionContext): boolean {
        log.push([this.number, this.job === context.getArgByIndex(1)]);
        return true;
      }
    }
    @Injectable()
    class StaticHost {
      @JobHandler('static', { enhancers: true })
      @UseGuards(ScopedGuard)
      run(): void {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class ScopedHost {
      @JobHandler('scoped', { enhancers: true })
      @UseGuards(ScopedGuard)
      run(): void {}
    }
    const app = await startMemoryApp({ providers: [StaticHost, ScopedHost] }, { memory: { workers: 1 } });
    const queue = app.get(JobQueue);

    for (const type of ['static', 'static', 'scoped', 'scoped']) queue.submit(type);
    await queue.join();

    expect(log).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [4, true],
    ]);
  });

  it('run around symbol-named methods, and around a spy', async () => {
    const symbol = Symbol('run');
    @Injectable()
    @UseInterceptors(Interceptor)
    class Odd {
      @JobHandler('symbol', { enhancers: true })
      [symbol](): void {
        log.push('symbol');
      }

      @JobHandler('spied', { enhancers: true })
      spied(): void {}
    }
    const app = await startMemoryApp({ providers: [Odd] });
    app.get(Odd).spied = () => void log.push('spy');
    const queue = app.get(JobQueue);

    queue.submit('symbol');
    queue.submit('spied');
    await queue.join();

    expect(log.map(String).toSorted()).toEqual(['after', 'after', 'before', 'before', 'spy', 'symbol']);
  });

  it('are refused around a static method', async () => {
    @Injectable()
    class Static {
      @JobHandler('static', { enhancers: true })
      static run(): void {}
    }

    await expect(startMemoryApp({ providers: [Static] })).rejects.toThrow(InvalidHandlerError);
  });

  it('are refused where a global one is request-scoped, which Nest would leave out', async () => {
    const guard = { provide: APP_GUARD, useClass: Guard, scope: Scope.REQUEST };

    await expect(startMemoryApp({ providers: [Names, Work, guard] })).rejects.toThrow(InvalidOptionError);
    await expect(startMemoryApp({ providers: [Names, Work, guard] })).rejects.toThrow(/APP_GUARD of AppModule/);
  });

  it('let a guard throw an error of its own', async () => {
    class Throwing implements CanActivate {
      canActivate(): boolean {
        throw new ForbiddenException('no licence');
      }
    }
    @Injectable()
    class Licensed {
      @JobHandler('licensed', { enhancers: true })
      @UseGuards(Throwing)
      run(): void {}
    }
    const app = await startMemoryApp({ providers: [Licensed] });

    expect(await endOf(app, 'licensed')).toMatchObject({ kind: 'failed', error: 'no licence' });
  });
});
