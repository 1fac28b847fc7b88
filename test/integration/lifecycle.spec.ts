import { Injectable, type INestApplicationContext, type OnApplicationBootstrap } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { JobHandler, JobQueue, PersistentJobQueue, QueueClosedError } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { quickJobs, startDatabaseApp, typeOrm } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, RecordingLogger } from '../support/jobs-app.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

/** Ends its jobs when it is told to, and knows how many ran at once. */
@Injectable()
class Worker {
  done = 0;
  running = 0;
  mostAtOnce = 0;
  private finish: () => void = () => undefined;
  private gate = Promise.resolve();

  @JobHandler('quick')
  quick(): void {
    this.done += 1;
  }

  @JobHandler('held')
  async held(): Promise<void> {
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    await this.gate;
    this.running -= 1;
    this.done += 1;
  }

  hold(): void {
    this.gate = new Promise((resolve) => (this.finish = resolve));
  }

  release(): void {
    this.finish();
  }
}

/** Fails the start of the app as often as it is told to. */
@Injectable()
class Flaky implements OnApplicationBootstrap {
  failures = 1;

  onApplicationBootstrap(): void {
    this.failures -= 1;
    if (this.failures >= 0) throw new Error('not today');
  }
}

forEachDatabase((database) => {
  let modules: TestingModule[] = [];

  afterEach(async () => {
    await closeApps();
    await Promise.all(modules.map((module) => module.close()));
    modules = [];
    await database.empty();
  });

  /** A second look at the rows, which outlives the app; `:memory:` has only the app's own. */
  async function looksAt(dataSource: DataSource): Promise<QueueRig> {
    return new QueueRig(database.name === 'sqlite-memory' ? dataSource : await database.connect());
  }

  /** An app with a job in its table and a service that fails its first start. */
  async function flakyApp(): Promise<{ readonly module: TestingModule; readonly rig: QueueRig }> {
    const dataSource = await database.connect();
    const rig = await looksAt(dataSource);
    const filler = new QueueRig(dataSource);
    await (await filler.queue()).enqueue('quick');
    await filler.close();
    const module = await Test.createTestingModule({
      imports: [typeOrm(dataSource), quickJobs()],
      providers: [Worker, Flaky],
    })
      .setLogger(new RecordingLogger())
      .compile();
    modules.push(module);
    return { module, rig };
  }

  /** An app with a job that is under way. */
  async function busyApp(logger: RecordingLogger | false = false): Promise<{
    readonly app: INestApplicationContext;
    readonly worker: Worker;
  }> {
    const app = await startDatabaseApp(await database.connect(), { providers: [Worker] }, { logger });
    const worker = app.get(Worker);
    worker.hold();
    await app.get(PersistentJobQueue).enqueue('held');
    await until(() => worker.running === 1);
    return { app, worker };
  }

  it('an app may be closed twice at once, and once more', async () => {
    const logger = new RecordingLogger();
    const { app, worker } = await busyApp(logger);
    const closing = Promise.all([app.close(), app.close()]);

    worker.release();
    await closing;
    await app.close();

    expect(worker.done).toBe(1);
    expect(logger.lines.filter((line) => line.includes('error') || line.includes('warn'))).toEqual([]);
  });

  it('jobs can be enqueued while an app stops, and stay for the next one', async () => {
    const { app, worker } = await busyApp();
    const queue = app.get(PersistentJobQueue);
    const closing = app.close();

    const id = await queue.enqueue('quick');
    worker.release();
    await closing;

    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(worker.done).toBe(1);
  });

  it('a closed app refuses jobs', async () => {
    const app = await startDatabaseApp(await database.connect(), { providers: [Worker] });
    await app.close();

    await expect(app.get(PersistentJobQueue).enqueue('quick')).rejects.toThrow(QueueClosedError);
    expect(() => app.get(JobQueue).submit(() => 1)).toThrow(QueueClosedError);
  });

  it('a stop that comes first, twice or during a start is no trouble', async () => {
    const app = await startDatabaseApp(await database.connect(), { providers: [Worker] }, { autoStart: false });
    const queue = app.get(PersistentJobQueue);

    await queue.stop();
    await Promise.all([queue.start(), queue.stop(), queue.stop()]);
    await queue.enqueue('quick');
    await Promise.all([queue.start(), queue.start()]);
    await until(() => app.get(Worker).done === 1);

    expect(app.get(Worker).done).toBe(1);
  });

  it('stop and start again double no workers', async () => {
    const dataSource = await database.connect();
    const app = await startDatabaseApp(dataSource, { providers: [Worker] }, { persistent: { workers: 2 } });
    const [queue, worker] = [app.get(PersistentJobQueue), app.get(Worker)];
    for (let round = 0; round < 3; round += 1) {
      await queue.stop();
      await queue.start();
    }
    worker.hold();
    await queue.enqueueMany(Array.from({ length: 6 }, () => ({ type: 'held' })));
    await until(() => worker.running === 2);

    worker.release();
    await until(() => worker.done === 6);

    expect(worker.mostAtOnce).toBe(2);
  });

  it('a failed start claims nothing', async () => {
    const { module, rig } = await flakyApp();

    await expect(module.init()).rejects.toThrow('not today');

    expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, claimed_by: null, claim_token: null });
    expect(module.get(Worker).done).toBe(0);
  });

  it('a failed start leaves no timer', async () => {
    const { module } = await flakyApp();
    const before = activeTimers();

    await module.init().catch(() => undefined);

    expect(activeTimers()).toBe(before);
  });

  it('an app that failed to start can be closed', async () => {
    const { module } = await flakyApp();
    await module.init().catch(() => undefined);

    await expect(module.close()).resolves.toBeUndefined();
  });

  it('an app that failed to start can start again', async () => {
    const { module } = await flakyApp();
    await module.init().catch(() => undefined);

    await module.init();
    await until(() => module.get(Worker).done === 1);

    expect(module.get(Worker).done).toBe(1);
  });
});

/** Timers that hold this process. */
function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}
