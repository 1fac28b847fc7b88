import type { FactoryProvider, Provider } from '@nestjs/common';
import { ExternalContextCreator, ModuleRef, ModulesContainer } from '@nestjs/core';
import { EnhancedCaller } from './handlers/enhanced-caller.js';
import type { JobsAdmin } from './admin/jobs-admin.js';
import { HandlerExplorer } from './handlers/handler-explorer.js';
import { HandlerRegistry, type Handler } from './handlers/handler-registry.js';
import { DataSourceFinder } from './jobs.data-source.js';
import { refuseScopedGlobals } from './jobs.enhancers.js';
import { ModuleSchedules, type ScheduledQueues } from './jobs.schedules.js';
import { SchedulerRegistryMirror } from './jobs.scheduler-registry.js';
import { connectEventEmitter, moduleEvents, type ModuleEvents } from './jobs.events.js';
import { findHarness, type InstanceHarness } from './jobs.harness.js';
import { startLastStopFirst } from './jobs.hook-order.js';
import { disabledError, JobsRegistrations } from './jobs.registrations.js';
import { findMiddleware, withModuleLayers } from './jobs.middleware.js';
import { resolveModuleOptions, type ResolvedModuleOptions } from './jobs.options.js';
import {
  contextToken,
  getJobQueueToken,
  getJobsAdminToken,
  getPersistentJobQueueToken,
  givenOptionsToken,
  instanceNameToken,
  optionsToken,
} from './jobs.tokens.js';
import { describeError } from './model/failure.js';
import { defaultInstanceName } from './model/instance-name.js';
import { resolvePersistentOptions } from './model/queue-options.js';
import type { QueueKind } from './model/job-event.js';
import { jobsLogger, type LogSink } from './observe/job-log.js';
import { JobQueue } from './queues/job-queue.js';
import { PersistentJobQueue } from './queues/persistent-job-queue.js';
import type { QueueParts } from './queues/queue-parts.js';
import { storeSettings } from './queues/store-settings.js';
import { JobsRuntime } from './runtime/jobs-runtime.js';
import type { AdministeredStore } from './stores/job-store.js';
import { openTypeOrmStore } from './stores/open-typeorm-store.js';

/** What the parts of one `JobsModule` share. */
interface JobsModuleContext extends ModuleEvents {
  readonly options: ResolvedModuleOptions;
  readonly modules: ModulesContainer;
  readonly registry: HandlerRegistry;
  readonly explorer: HandlerExplorer;
  readonly schedules: ModuleSchedules;
  readonly sink: LogSink;
  /** The testing kit that the app was given, if it was. */
  readonly harness: InstanceHarness | undefined;
  /** Absent where the persistent queue is switched off. */
  readonly dataSource: DataSourceFinder | undefined;
}

/** The providers of the `JobsModule` of this name, those aside that make its given options. */
export function jobsProviders(name: string): readonly Provider[] {
  return [
    { provide: instanceNameToken, useValue: name },
    optionsProvider(name),
    contextProvider,
    memoryQueueProvider(name),
    persistentQueueProvider(name),
    adminProvider(name),
    runtimeProvider(name),
  ];
}

function optionsProvider(name: string): FactoryProvider<ResolvedModuleOptions> {
  return {
    provide: optionsToken,
    inject: [ModulesContainer, givenOptionsToken],
    useFactory: (modules: ModulesContainer, given: unknown) => {
      new JobsRegistrations(modules).refuseDuplicates(name);
      return resolveModuleOptions(given instanceof GivenOptions ? given.options : given, name);
    },
  };
}

const contextProvider: FactoryProvider<JobsModuleContext> = {
  provide: contextToken,
  inject: [ModulesContainer, optionsToken, ExternalContextCreator],
  useFactory: (modules: ModulesContainer, given: ResolvedModuleOptions, creator: ExternalContextCreator) => {
    const harness = findHarness(modules)?.of(given.name);
    const options = harnessed(given, harness);
    const registry = new HandlerRegistry();
    const instance = options.name;
    const sink = jobsLogger(instance === defaultInstanceName ? undefined : instance);
    const onRefused = (error: unknown): void => sink.error(describeError(error));
    const explorer = new HandlerExplorer({
      modules,
      registry,
      instance,
      enhancers: options.enhancers,
      enhance: () => {
        refuseScopedGlobals(modules);
        return new EnhancedCaller(creator);
      },
      onFound: (handlers) => logHandlers(sink, handlers),
      onRefused,
    });
    const { persistent } = options;
    const dataSource = persistent === false ? undefined : new DataSourceFinder(modules, persistent.dataSource);
    return {
      options,
      modules,
      registry,
      explorer,
      schedules: new ModuleSchedules({ modules, instance, sink }),
      ...moduleEvents({ modules, instance, sink, onRefused }),
      sink,
      harness,
      dataSource,
    };
  },
};

function memoryQueueProvider(name: string): FactoryProvider<JobQueue> {
  return {
    provide: getJobQueueToken(name),
    inject: [contextToken],
    useFactory: (context: JobsModuleContext) =>
      new JobQueue(withModuleLayers(context, context.options.memory), {
        ...queueParts(context, 'memory'),
        autoStart: false,
        onSubmitted: context.harness?.onSubmitted,
      }),
  };
}

function persistentQueueProvider(name: string): FactoryProvider<PersistentJobQueue> {
  return {
    provide: getPersistentJobQueueToken(name),
    inject: [contextToken],
    useFactory: (context: JobsModuleContext) => {
      const { persistent } = context.options;
      const parts = { ...queueParts(context, 'persistent'), openStore: storeOpener(context) };
      return new PersistentJobQueue(withModuleLayers(context, persistent === false ? {} : persistent), parts);
    },
  };
}

function adminProvider(name: string): FactoryProvider<JobsAdmin | undefined> {
  return {
    provide: getJobsAdminToken(name),
    inject: [getPersistentJobQueueToken(name)],
    // A test double in the place of the queue brings its own, or none.
    useFactory: (queue: PersistentJobQueue | undefined) => queue?.admin,
  };
}

/** In a test nothing runs by itself, and the kit goes around everything. */
function harnessed(options: ResolvedModuleOptions, harness: InstanceHarness | undefined): ResolvedModuleOptions {
  if (harness === undefined) return options;
  return { ...options, autoStart: false, middleware: [harness.middleware, ...options.middleware] };
}

function queueParts(
  { registry, sink, explorer, listeners, schedules, events, options, modules, harness }: JobsModuleContext,
  queue: QueueKind,
): QueueParts {
  const beforeClaim = (): void => {
    explorer.refresh();
    listeners.refresh();
    schedules.explorer.refresh();
  };
  const mirror = new SchedulerRegistryMirror(modules, sink);
  const onSchedules: QueueParts['onSchedules'] = (seen) => mirror.show(seen);
  const { name: instance } = options;
  return { registry, sink, beforeClaim, events: events[queue], instance, onSchedules, clock: harness?.clock };
}

/** How the persistent queue comes to its store; one that is switched off learns why it has none. */
function storeOpener({ options, dataSource, sink, harness }: JobsModuleContext): () => Promise<AdministeredStore> {
  const { name, persistent } = options;
  if (persistent === false || dataSource === undefined) return () => Promise.reject(disabledError(name));
  if (harness !== undefined) return () => harness.openStore(() => dataSource.findIfAny());
  const settings = storeSettings(resolvePersistentOptions(persistent), sink);
  return async () => openTypeOrmStore(await dataSource.find(), settings);
}

function runtimeProvider(name: string): FactoryProvider<JobsRuntime> {
  return {
    provide: JobsRuntime,
    inject: [contextToken, ModuleRef, getJobQueueToken(name), getPersistentJobQueueToken(name)],
    useFactory: (context: JobsModuleContext, ownRef: ModuleRef, memory: unknown, persistent: unknown) => {
      const { modules, options, sink } = context;
      if (!startLastStopFirst(modules, ownRef)) {
        sink.warn(
          'this version of Nest does not let JobsModule start last and stop first: jobs may run before the app is ready, ' +
            'and after the services that they use have closed',
        );
      }
      const isPersistent = options.persistent !== false && persistent instanceof PersistentJobQueue;
      const own = options.persistent === false ? {} : options.persistent;
      context.harness?.attach({
        registry: context.registry,
        events: context.events,
        memory: memory instanceof JobQueue ? memory : undefined,
        persistent: isPersistent ? persistent : undefined,
        options: withModuleLayers(context, own),
      });
      return new JobsRuntime({
        memory: memory instanceof JobQueue ? memory : undefined,
        persistent: isPersistent ? persistent : undefined,
        autoStart: options.autoStart,
        discover: async () => {
          await discover(context);
          await context.schedules.discover(scheduledQueues(options, { memory, persistent }));
          await context.harness?.discovered();
        },
        siblings: () => new JobsRegistrations(modules).runtimes(),
        logError: (message) => sink.error(message),
      });
    },
  };
}

/** Runs when all providers are made and every `onModuleInit` of the app has ended. */
async function discover(context: JobsModuleContext): Promise<void> {
  const { options, modules, explorer, listeners, dataSource, sink } = context;
  const registrations = new JobsRegistrations(modules);
  if (options.persistent === false) {
    registrations.refuseDisabledInjection(options.name, getPersistentJobQueueToken(options.name));
    registrations.refuseDisabledInjection(options.name, getJobsAdminToken(options.name));
  }
  dataSource?.settle();
  const handlers = explorer.explore();
  if (handlers.length > 0) logHandlers(sink, handlers);
  else sink.log('no job handlers: no provider or controller has a method with @JobHandler for this queue');
  findMiddleware(modules, options.middleware);
  listeners.explore();
  connectEventEmitter(modules, context.publishers);
  registrations.refuseUnknownInstances('@JobHandler', explorer.boundInstances());
  registrations.refuseUnknownInstances('@OnJobEvent', listeners.boundInstances());
  warnOfUnknownPolicies(context);
  await Promise.all(handlers.map(async ({ type, policy }) => policy.schema?.prepare?.(type)));
}

/** A test double in the place of a queue has no schedules, and those that it would have go nowhere else. */
function scheduledQueues(
  options: ResolvedModuleOptions,
  queues: Readonly<Record<QueueKind, unknown>>,
): ScheduledQueues {
  return {
    isPersistent: options.persistent !== false,
    schedulesOf: (kind) => {
      const queue = queues[kind];
      return queue instanceof JobQueue || queue instanceof PersistentJobQueue ? queue.schedules : undefined;
    },
  };
}

/** A policy for a type that is misspelt would do nothing; but another process may have its handler, or a module that comes later. */
function warnOfUnknownPolicies({ options: { memory, persistent }, registry, sink }: JobsModuleContext): void {
  const given = { ...memory.handlers, ...(persistent === false ? {} : persistent.handlers) };
  const unknown = Object.keys(given).filter((type) => registry.get(type) === undefined);
  if (unknown.length === 0) return;
  const list = unknown.map((type) => `'${type}'`).join(', ');
  sink.warn(`the option handlers names ${list}, which no handler here is registered for: mind the spelling`);
}

function logHandlers(sink: LogSink, handlers: readonly Handler[]): void {
  const list = handlers.map(({ type, source }) => `'${type}' (${source})`).join(', ');
  sink.log(`${handlers.length} job handler${handlers.length === 1 ? '' : 's'}: ${list}`);
}

/**
 * The options given to `forRoot`, as a provider's value.
 *
 * Nest can tell modules apart by a hash of what they are made of. Objects of the app among the options are not fit for that, so only
 * whether there are some takes part.
 */
export class GivenOptions {
  readonly #options: unknown;

  constructor(options: unknown) {
    this.#options = options;
  }

  get options(): unknown {
    return this.#options;
  }

  toJSON(): unknown {
    return JSON.parse(
      JSON.stringify(this.#options, (key, value: unknown) =>
        opaque.includes(key) && typeof value === 'object' ? `some ${key}` : value,
      ) ?? 'null',
    );
  }
}

/** Options that may hold anything, circles too. */
const opaque = ['dataSource', 'middleware', 'context'];
