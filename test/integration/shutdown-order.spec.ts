import { Injectable, type DynamicModule, type ModuleMetadata, type OnModuleDestroy } from '@nestjs/common';
import { JobHandler, PersistentJobQueue } from 'nestjs-jobs';
import { DataSource } from 'typeorm';
import { quickJobs, typeOrm } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, RecordingLogger, startApp } from '../support/jobs-app.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

/** A client that cannot be used any more once it is closed. */
@Injectable()
class MailService implements OnModuleDestroy {
  sent = 0;
  private isOpen = true;

  send(): void {
    if (!this.isOpen) throw new Error('the connection is not open');
    this.sent += 1;
  }

  onModuleDestroy(): void {
    this.isOpen = false;
  }
}

@Injectable()
class Mailer {
  static finish: () => void;
  static isRunning: boolean;

  constructor(
    private readonly mail: MailService,
    private readonly dataSource: DataSource,
  ) {}

  @JobHandler('mail')
  async mailIt(): Promise<void> {
    Mailer.isRunning = true;
    await new Promise<void>((resolve) => (Mailer.finish = resolve));
    await this.dataSource.query('SELECT 1');
    this.mail.send();
  }
}

const hands = { providers: [MailService, Mailer] };

/** Where the service may live; `jobs` is the JobsModule, which a module may import too. */
const graphs: Readonly<Record<string, (jobs: DynamicModule) => ModuleMetadata>> = {
  'in the root module': () => hands,
  'in a feature module that imports the queue': (jobs) => ({
    imports: [{ module: class FeatureModule {}, imports: [jobs], ...hands }],
  }),
  'in a global module': () => ({ imports: [{ module: class GlobalModule {}, global: true, ...hands }] }),
};

type Imports = NonNullable<ModuleMetadata['imports']>;

/** In which order the modules may stand. */
const orders: Readonly<Record<string, (modules: Imports) => Imports>> = {
  'the queue first': (modules) => modules,
  'the queue last': (modules) => modules.toReversed(),
};

const cases = Object.entries(graphs).flatMap(([where, graph]) =>
  Object.entries(orders).map(([order, arrange]) => [`${where}, ${order}`, graph, arrange] as const),
);

/** Resolves once the app has told its queue to stop, and whoever is told at the same time has been told as well. */
function stopsQueue(queue: PersistentJobQueue): Promise<void> {
  return new Promise((resolve) => {
    const stop = queue.stop.bind(queue);
    queue.stop = () => {
      setTimeout(resolve, 50);
      return stop();
    };
  });
}

forEachDatabase((database) => {
  beforeEach(() => {
    Mailer.isRunning = false;
  });

  afterEach(async () => {
    await closeApps();
    await database.empty();
  });

  it.each(cases)('a job ends before the service that it needs is closed: %s', async (_where, graph, arrange) => {
    const logger = new RecordingLogger();
    const jobs = quickJobs();
    const { imports = [], ...rest } = graph(jobs);
    const modules = arrange([jobs, typeOrm(await database.connect()), ...imports]);
    const app = await startApp({ imports: modules, ...rest }, logger);
    const mail = app.get(MailService, { strict: false });
    await app.get(PersistentJobQueue).enqueue('mail');
    await until(() => Mailer.isRunning);

    const stopping = stopsQueue(app.get(PersistentJobQueue));
    const closing = app.close();
    await stopping;
    Mailer.finish();
    await closing;

    expect(mail.sent).toBe(1);
    expect(logger.lines.filter((line) => /\] (error|warn)/.test(line))).toEqual([]);
    // What was in memory went with the app.
    if (database.name !== 'sqlite-memory') expect(await new QueueRig(await database.connect()).rows()).toEqual([]);
  });
});
