import {
  Injectable,
  type INestApplicationContext,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Module } from '@nestjs/core/injector/module.js';
import { getJobQueueToken, JobQueue, JobsModule, type JobsModuleOptions } from 'nestjs-jobs';
import { startLastStopFirst } from '../../lib/jobs.hook-order.js';
import { closeApps, startApp } from '../support/jobs-app.js';

const memoryOnly: JobsModuleOptions = { persistent: false };

/** What happened, in order. */
let log: string[] = [];

/** Needs a while to start and to stop, as services with connections do; submits a job as soon as it is made. */
@Injectable()
class Service implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  constructor(queue: JobQueue) {
    queue.submit(() => log.push('job'));
  }

  async onModuleInit(): Promise<void> {
    await aMoment();
    log.push('init');
  }

  async onApplicationBootstrap(): Promise<void> {
    await aMoment();
    log.push('bootstrap');
  }

  async onModuleDestroy(): Promise<void> {
    await aMoment();
    log.push('destroy');
  }
}

/** Lets everything run that could run by now. */
async function aMoment(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function feature(metadata: ModuleMetadata, isGlobal = false): ModuleMetadata {
  return { imports: [{ module: class FeatureModule {}, global: isGlobal, ...metadata }] };
}

const providers = [Service];

/** Where an app may have the service and `JobsModule`. */
const graphs: Readonly<Record<string, () => ModuleMetadata>> = {
  'the root module': () => ({ imports: [JobsModule.forRoot(memoryOnly)], providers }),
  'a module that imports JobsModule': () => feature({ imports: [JobsModule.forRoot(memoryOnly)], providers }),
  'a module imported before JobsModule': () => ({
    imports: [...(feature({ providers }).imports ?? []), JobsModule.forRoot(memoryOnly)],
  }),
  'a module imported after JobsModule': () => ({
    imports: [JobsModule.forRoot(memoryOnly), ...(feature({ providers }).imports ?? [])],
  }),
  'a global module': () => feature({ imports: [JobsModule.forRoot(memoryOnly)], providers }, true),
  'a global module imported after JobsModule': () => ({
    imports: [JobsModule.forRoot(memoryOnly), ...(feature({ providers }, true).imports ?? [])],
  }),
};

beforeEach(() => {
  log = [];
});

afterEach(closeApps);

describe.each(Object.entries(graphs))('with a service in %s', (_place, graph) => {
  it('jobs start when the whole app has', async () => {
    const app = await startApp(graph());

    await app.get(JobQueue).join();

    expect(log).toEqual(['init', 'bootstrap', 'job']);
  });

  it('a running job ends before the service does', async () => {
    const app = await startApp(graph());
    const finish = await startJob(app, 'slow job');
    const closing = app.close();
    await aMoment();

    finish();
    await closing;

    expect(log.slice(-2)).toEqual(['slow job', 'destroy']);
  });
});

/** Starts a job on the memory queue; resolves, when it runs, to what lets it end. */
async function startJob(app: INestApplicationContext, name: string): Promise<() => void> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  await new Promise<void>((started) => {
    app.get(JobQueue).submit(async () => {
      started();
      await ended;
      log.push(name);
    });
  });
  return end;
}

describe('several JobsModules', () => {
  it.each([
    ['first', 'second'],
    ['second', 'first'],
  ])('drain at the same time: the %s need not wait for the %s', async (waiting, other) => {
    const imports = [
      JobsModule.forRoot({ ...memoryOnly, name: waiting }),
      // Tells its job to end quite soon.
      JobsModule.forRoot({ ...memoryOnly, name: other, memory: { shutdownTimeout: 10 } }),
    ].toSorted(() => (waiting === 'first' ? 0 : -1));
    const app = await startApp({ imports });
    const aborted = new Promise<void>((resolve) => {
      app.get<JobQueue>(getJobQueueToken(other)).submit(({ signal }) => {
        signal.addEventListener('abort', () => resolve());
        return aborted;
      });
    });
    await new Promise<void>((started) => {
      app.get<JobQueue>(getJobQueueToken(waiting)).submit(async () => {
        started();
        await aborted;
        log.push('ended');
      });
    });

    await app.close();

    expect(log).toEqual(['ended']);
  });
});

describe('the order of hooks', () => {
  it('stays as it is where the module is not found', async () => {
    const app = await startApp({});

    expect(startLastStopFirst(new ModulesContainer(), app.get(ModuleRef))).toBe(false);
  });

  it('stays as it is where modules have no distance', async () => {
    const app = await startApp({});
    const modules = app.get(ModulesContainer);
    const frozen = [...modules].map(([token, module]) => [token, withoutDistance(module)] as const);

    expect(startLastStopFirst(fill(new ModulesContainer(), frozen), app.get(ModuleRef))).toBe(false);
  });
});

function withoutDistance(module: Module): Module {
  return Object.create(module, { distance: { value: undefined } }) as Module;
}

function fill(modules: ModulesContainer, entries: readonly (readonly [string, Module])[]): ModulesContainer {
  for (const [token, module] of entries) modules.set(token, module);
  return modules;
}
