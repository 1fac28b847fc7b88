import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { JobHandler, JobQueue, type JobContext } from 'nestjs-jobs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { closeApps, runJob, startMemoryApp } from '../../support/jobs-app.js';

@Injectable()
class Clock {}

@Injectable({ scope: Scope.REQUEST })
class Repository {
  constructor(@Inject(REQUEST) readonly request: unknown) {}
}

interface Seen {
  readonly host: object;
  readonly repository: Repository;
  readonly clock: Clock;
  readonly job: JobContext;
}

let seen: Seen[] = [];

/** Default scope, but what it depends on makes it request-scoped. */
@Injectable()
class Scoped {
  constructor(
    readonly repository: Repository,
    readonly clock: Clock,
  ) {}

  @JobHandler('scoped')
  async run(_payload: unknown, job: JobContext): Promise<void> {
    const { repository, clock } = this;
    seen.push({ host: this, repository, clock, job });
  }
}

beforeEach(() => {
  seen = [];
});

afterEach(closeApps);

async function runTwo(app: Awaited<ReturnType<typeof startMemoryApp>>): Promise<readonly [Seen, Seen]> {
  app.get(JobQueue).submit('scoped');
  await runJob(app, 'scoped');
  const [first, second] = seen;
  if (first === undefined || second === undefined) throw new Error('two jobs should have run');
  return [first, second];
}

describe('a handler that depends on a request-scoped provider', () => {
  const providers = [Repository, Clock, Scoped];

  it('receives all its dependencies', async () => {
    const app = await startMemoryApp({ providers });

    await runJob(app, 'scoped');

    expect(seen[0]?.repository).toBeInstanceOf(Repository);
    expect(seen[0]?.clock).toBe(app.get(Clock));
  });

  it('shares nothing request-scoped with the handler of another job', async () => {
    const app = await startMemoryApp({ providers });

    const [first, second] = await runTwo(app);

    expect(first.host).not.toBe(second.host);
    expect(first.repository).not.toBe(second.repository);
  });

  it('shares a default-scoped dependency', async () => {
    const app = await startMemoryApp({ providers });

    const [first, second] = await runTwo(app);

    expect(first.clock).toBe(second.clock);
  });

  it('finds the job as REQUEST', async () => {
    const app = await startMemoryApp({ providers });

    await runJob(app, 'scoped');

    expect(seen[0]?.repository.request).toBe(seen[0]?.job);
  });

  it('has a new context in each attempt of one job', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Flaky {
      @JobHandler('flaky')
      run(_payload: unknown, { attempt }: JobContext): void {
        hosts.push(this);
        if (attempt === 1) throw new Error('try again');
      }
    }
    const hosts: Flaky[] = [];
    const memory = { maxRetries: 1, backoff: { initial: 0 } };
    const app = await startMemoryApp({ providers: [Flaky] }, { memory });

    await runJob(app, 'flaky');

    expect(new Set(hosts).size).toBe(2);
  });

  it('may be a controller', async () => {
    @Controller()
    class ScopedController extends Scoped {}
    const app = await startMemoryApp({ providers: [Repository, Clock], controllers: [ScopedController] });

    await runJob(app, 'scoped');

    expect(seen[0]?.host).toBeInstanceOf(ScopedController);
    expect(seen[0]?.repository.request).toBe(seen[0]?.job);
  });

  it('may be provided under another token', async () => {
    const app = await startMemoryApp({ providers: [Repository, Clock, { provide: 'SCOPED', useClass: Scoped }] });

    await runJob(app, 'scoped');

    expect(seen[0]?.host).toBeInstanceOf(Scoped);
  });

  it('may come from a request-scoped factory under its class', async () => {
    const useFactory = (repository: Repository): Scoped => new Scoped(repository, new Clock());
    const app = await startMemoryApp({
      providers: [Repository, { provide: Scoped, scope: Scope.REQUEST, inject: [Repository], useFactory }],
    });

    await runJob(app, 'scoped');

    expect(seen[0]?.repository.request).toBe(seen[0]?.job);
  });

  it('fails its attempt when a dependency cannot be made', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        throw new Error('cannot be made');
      }
    }
    @Injectable()
    class OnBroken {
      constructor(readonly broken: Broken) {}

      @JobHandler('broken')
      run(): void {
        ran = true;
      }
    }
    let ran = false;
    const app = await startMemoryApp({ providers: [Broken, OnBroken] });

    await runJob(app, 'broken');

    expect(ran).toBe(false);
  });

  it('is released with its context after the job', async () => {
    const app = await startMemoryApp({ providers });
    const queue = app.get(JobQueue);
    const jobs = 5_000;
    for (let i = 0; i < jobs; i += 1) queue.submit('scoped');
    await queue.join();

    const hosts = seen.map(({ host }) => new WeakRef(host));
    expect(hosts).toHaveLength(jobs);
    seen = [];
    await collectGarbage();

    // Nest keeps a few of the latest, such as the settlement of a load that has just ended.
    expect(hosts.filter((host) => host.deref() !== undefined).length).toBeLessThan(50);
  });
});

describe('a transient handler', () => {
  it('is another object for each job', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @JobHandler('transient')
      run(): void {
        hosts.push(this);
      }
    }
    const hosts: Transient[] = [];
    const app = await startMemoryApp({ providers: [Transient] });
    app.get(JobQueue).submit('transient');

    await runJob(app, 'transient');

    expect(new Set(hosts).size).toBe(2);
  });

  it('as a dependency does not change the one handler', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Dependency {}
    @Injectable()
    class OnTransient {
      constructor(readonly dependency: Dependency) {}

      @JobHandler('on_transient')
      run(): void {
        found.push(this.dependency);
      }
    }
    const found: Dependency[] = [];
    const app = await startMemoryApp({ providers: [Dependency, OnTransient] });

    await runJob(app, 'on_transient');

    expect(found).toEqual([app.get(OnTransient).dependency]);
    expect(found[0]).toBeInstanceOf(Dependency);
  });
});

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
}
