import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { JobHandler, PersistentJobQueue, type JobContext } from 'nestjs-jobs';
import { startDatabaseApp } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps } from '../support/jobs-app.js';
import { until } from '../support/until.js';

@Injectable()
class Clock {}

@Injectable({ scope: Scope.REQUEST })
class Repository {
  constructor(@Inject(REQUEST) readonly job: JobContext) {}
}

let seen: { readonly repository: Repository; readonly clock: Clock; readonly id: string }[] = [];

@Injectable()
class Worker {
  constructor(
    private readonly repository: Repository,
    private readonly clock: Clock,
  ) {}

  /** Ends when both jobs are under way, so that they do run beside each other. */
  @JobHandler('scoped')
  async run(_payload: unknown, { id }: JobContext): Promise<void> {
    seen.push({ repository: this.repository, clock: this.clock, id });
    await until(() => seen.length === 2);
  }
}

forEachDatabase((database) => {
  beforeEach(async () => {
    seen = [];
    const app = await startDatabaseApp(await database.connect(), { providers: [Repository, Clock, Worker] });
    await app.get(PersistentJobQueue).enqueueMany([{ type: 'scoped' }, { type: 'scoped' }]);
    await until(() => seen.length === 2);
  });

  afterEach(async () => {
    await closeApps();
    await database.empty();
  });

  it('two jobs at the same time share no request-scoped instance', () => {
    expect(new Set(seen.map(({ repository }) => repository)).size).toBe(2);
  });

  it('each job has all its dependencies, the ordinary ones too', () => {
    expect(seen[0]?.repository).toBeInstanceOf(Repository);
    expect(seen[0]?.clock).toBeInstanceOf(Clock);
    expect(seen[0]?.clock).toBe(seen[1]?.clock);
  });

  it('each job is the request of its own context', () => {
    expect(seen.map(({ repository }) => repository.job.id)).toEqual(seen.map(({ id }) => id));
  });
});
