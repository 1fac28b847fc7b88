import { Injectable, type INestApplicationContext } from '@nestjs/common';
import {
  getPersistentJobQueueToken,
  InjectJobsAdmin,
  InjectPersistentJobQueue,
  JobHandler,
  JobsAdmin,
  JobsModule,
  MissingDataSourceError,
  PersistentJobQueue,
  type JobContext,
} from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { quickJobs, startDatabaseApp, typeOrm } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, startApp } from '../support/jobs-app.js';
import { QueueRig, quickOptions } from '../support/queue-rig.js';
import { until } from '../support/until.js';

/** Serves both instances. */
@Injectable()
class Shared {
  readonly payloads: string[] = [];
  running = 0;
  mostAtOnce = 0;

  @JobHandler('shared')
  async run(payload: string): Promise<void> {
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    await new Promise((resolve) => setImmediate(resolve));
    this.running -= 1;
    this.payloads.push(payload);
  }
}

/** Each serves one. */
@Injectable()
class Bound {
  readonly runs: string[] = [];

  @JobHandler('bound', { instance: 'audit' })
  audit(payload: unknown): void {
    this.runs.push(`audit ${String(payload)}`);
  }

  @JobHandler('bound', { instance: 'reports' })
  reports(payload: unknown): void {
    this.runs.push(`reports ${String(payload)}`);
  }
}

@Injectable()
class Sender {
  constructor(
    @InjectPersistentJobQueue('audit') readonly audit: PersistentJobQueue,
    @InjectPersistentJobQueue('reports') readonly reports: PersistentJobQueue,
  ) {}
}

@Injectable()
class Desk {
  constructor(
    @InjectJobsAdmin('audit') readonly audit: JobsAdmin,
    @InjectJobsAdmin('reports') readonly reports: JobsAdmin,
  ) {}
}

forEachDatabase((database) => {
  afterEach(async () => {
    await closeApps();
    await database.clear();
  });

  /** Two queues, each with a DataSource and a table of its own. */
  async function startTwo(autoStart: boolean): Promise<{
    readonly app: INestApplicationContext;
    readonly sources: Readonly<Record<'audit' | 'reports', DataSource>>;
  }> {
    const sources = { audit: await database.connect(), reports: await database.connect() };
    const jobs = (name: string) =>
      quickJobs({ name, autoStart, persistent: { dataSource: name, tableName: `${name}_jobs` } });
    const app = await startApp({
      imports: [typeOrm(sources.audit, 'audit'), typeOrm(sources.reports, 'reports'), jobs('audit'), jobs('reports')],
      providers: [Shared, Bound, Sender, Desk],
    });
    return { app, sources };
  }

  it('jobs of a named queue land in its own table, through its own DataSource', async () => {
    const { app, sources } = await startTwo(false);
    const { audit, reports } = app.get(Sender);

    await audit.enqueue('shared', 'a');
    await reports.enqueue('shared', 'r');

    expect(await new QueueRig(sources.audit, 'audit_jobs').row()).toMatchObject({ payload: '"a"' });
    expect(await new QueueRig(sources.reports, 'reports_jobs').row()).toMatchObject({ payload: '"r"' });
  });

  it('one handler serves every instance, a bound one only its own', async () => {
    const { app } = await startTwo(true);
    const { audit, reports } = app.get(Sender);

    for (const type of ['shared', 'bound']) {
      await audit.enqueue(type, 'a');
      await reports.enqueue(type, 'r');
    }
    await until(() => app.get(Shared).payloads.length === 2 && app.get(Bound).runs.length === 2);

    expect(app.get(Shared).payloads.toSorted()).toEqual(['a', 'r']);
    expect(app.get(Bound).runs.toSorted()).toEqual(['audit a', 'reports r']);
  });

  it('each instance has an admin of its own', async () => {
    const { app } = await startTwo(false);
    const { audit, reports } = app.get(Sender);
    const { audit: auditAdmin, reports: reportsAdmin } = app.get(Desk);
    const id = await audit.enqueue('shared', 'a');

    expect(await auditAdmin.find(id)).toMatchObject({ id, state: 'pending' });
    expect(await reportsAdmin.find(id)).toBeUndefined();
    expect([auditAdmin, reportsAdmin]).toEqual([audit.admin, reports.admin]);
  });

  it('the admin is injected by its class', async () => {
    const app = await startDatabaseApp(await database.connect(), {});

    expect(app.get(JobsAdmin)).toBe(app.get(PersistentJobQueue).admin);
    expect(await app.get(JobsAdmin).counts()).toMatchObject({ types: [] });
  });

  it('a DataSource may be given as an object, by an asynchronous factory', async () => {
    const dataSource = await database.connect();
    const useFactory = async () => ({ persistent: { ...quickOptions, dataSource } });
    const app = await startApp({
      imports: [JobsModule.forRootAsync({ name: 'own', useFactory })],
      providers: [Shared],
    });

    await app.get<PersistentJobQueue>(getPersistentJobQueueToken('own')).enqueue('shared', 'x');
    await until(async () => (await new QueueRig(dataSource).rows()).length === 0);

    expect(app.get(Shared).payloads).toEqual(['x']);
  });

  it('a DataSource that does not exist is named at the start, with those that do', async () => {
    const dataSource = await database.connect();
    const start = startDatabaseApp(dataSource, {}, { persistent: { dataSource: 'reprots' } });

    await expect(start).rejects.toThrow(MissingDataSourceError);
    await expect(start).rejects.toThrow("found no TypeORM DataSource 'reprots' (the app has 'default')");
  });

  it('a module object that is imported twice has one set of workers', async () => {
    const dataSource = await database.connect();
    const jobs = quickJobs({ persistent: { workers: 1 } });
    const imports = [typeOrm(dataSource), jobs, { module: class BillingModule {}, imports: [jobs] }];
    const app = await startApp({ imports, providers: [Shared] });

    await app.get(PersistentJobQueue).enqueueMany(['1', '2', '3'].map((payload) => ({ type: 'shared', payload })));
    await until(() => app.get(Shared).payloads.length === 3);

    expect(app.get(Shared).mostAtOnce).toBe(1);
  });

  it('what a handler says about its jobs wins over what the queue says', async () => {
    @Injectable()
    class Unlucky {
      attempts = 0;

      @JobHandler('unlucky', { maxRetries: 1, backoff: { initial: 0 } })
      run(_payload: unknown, { attempt }: JobContext): never {
        this.attempts = attempt;
        throw new Error('no luck');
      }
    }
    const dataSource = await database.connect();
    const app = await startDatabaseApp(dataSource, { providers: [Unlucky] });
    const rig = new QueueRig(dataSource);

    await app.get(PersistentJobQueue).enqueue('unlucky');
    await until(async () => (await rig.rows("status = 'failed'")).length === 1);

    expect(app.get(Unlucky).attempts).toBe(2);
  });
});
