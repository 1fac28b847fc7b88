import {
  Injectable,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { JobHandler, JobsModule, MissingDataSourceError, PersistentJobQueue } from 'nestjs-jobs';
import { DataSource } from 'typeorm';
import { startDatabaseApp } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, startApp } from '../support/jobs-app.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

/** What happened, in order. */
let log: string[] = [];

@Injectable()
class Worker {
  @JobHandler('work')
  work(payload: string): void {
    log.push(`job of ${payload}`);
  }
}

/** Needs the database a while to start, and enqueues wherever it can. */
@Injectable()
class Service implements OnModuleInit, OnApplicationBootstrap {
  readonly enqueued: Promise<string>;

  constructor(
    private readonly jobs: PersistentJobQueue,
    private readonly dataSource: DataSource,
  ) {
    this.enqueued = jobs.enqueue('work', 'the constructor');
  }

  async onModuleInit(): Promise<void> {
    await this.jobs.enqueue('work', 'onModuleInit');
    await this.warmUp();
    log.push('init');
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.jobs.enqueue('work', 'onApplicationBootstrap');
    await this.warmUp();
    log.push('bootstrap');
  }

  private async warmUp(): Promise<void> {
    for (let i = 0; i < 20; i += 1) await this.dataSource.query('SELECT 1');
  }
}

/** Nest cannot go on making providers before its job is stored. */
const enqueuingFactory = {
  provide: 'FACTORY',
  inject: [PersistentJobQueue],
  useFactory: (jobs: PersistentJobQueue) => jobs.enqueue('work', 'a factory'),
};

const graphs: Readonly<Record<string, () => ModuleMetadata>> = {
  'in the root module': () => ({ providers: [Service, Worker, enqueuingFactory] }),
  'in a feature module': () => ({ imports: [feature(false)] }),
  'in a global module': () => ({ imports: [feature(true)] }),
};

function feature(global: boolean): DynamicModule {
  return { module: class FeatureModule {}, global, providers: [Service, Worker, enqueuingFactory] };
}

beforeEach(() => {
  log = [];
});

forEachDatabase((database) => {
  afterEach(async () => {
    await closeApps();
    await database.clear();
  });

  async function withLeftover(): Promise<DataSource> {
    const dataSource = await database.connect();
    const rig = new QueueRig(dataSource);
    await (await rig.queue()).enqueue('work', 'an earlier run');
    await rig.close();
    return dataSource;
  }

  it.each(Object.entries(graphs))('with services %s no job starts before the whole app has', async (_place, graph) => {
    const dataSource = await withLeftover();

    await startDatabaseApp(dataSource, graph());
    await until(() => log.length === 7);

    expect(log.slice(0, 3)).toEqual(['init', 'bootstrap', 'job of an earlier run']);
  });

  it('jobs can be enqueued in a constructor, a factory and every starting hook', async () => {
    await startDatabaseApp(await database.connect(), { providers: [Service, Worker, enqueuingFactory] });

    await until(() => log.length === 6);

    expect(log.slice(2).toSorted()).toEqual([
      'job of a factory',
      'job of onApplicationBootstrap',
      'job of onModuleInit',
      'job of the constructor',
    ]);
  });

  it('a job of a constructor is acknowledged', async () => {
    const app = await startDatabaseApp(await database.connect(), { providers: [Service, Worker] });

    await expect(app.get(Service).enqueued).resolves.toMatch(/^[0-9a-f-]{36}$/);
  });

  it('without autoStart nothing runs before start()', async () => {
    const dataSource = await withLeftover();
    const app = await startDatabaseApp(dataSource, { providers: [Worker] }, { autoStart: false });
    const rig = new QueueRig(dataSource);

    expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, claimed_by: null });
    await app.get(PersistentJobQueue).start();
    await until(() => log.length === 1);

    expect(log).toEqual(['job of an earlier run']);
  });
});

describe('an enqueue while the app starts', () => {
  it('is rejected with what to do where there is no DataSource', async () => {
    let refusal: unknown;
    @Injectable()
    class Early {
      constructor(jobs: PersistentJobQueue) {
        jobs.enqueue('work').catch((error: unknown) => (refusal = error));
      }
    }

    const start = startApp({ imports: [JobsModule.forRoot()], providers: [Early] });

    await expect(start).rejects.toThrow(MissingDataSourceError);
    expect(refusal).toBeInstanceOf(MissingDataSourceError);
  });
});
