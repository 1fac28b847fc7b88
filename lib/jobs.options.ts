import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Provider, Type } from '@nestjs/common';
import { checkKnownKeys, checkOneOf, show } from './model/check.js';
import { checkCarriers, type ContextCarrier } from './model/context-carrier.js';
import { InvalidOptionError } from './model/errors.js';
import { checkInstanceName, defaultInstanceName } from './model/instance-name.js';
import { checkMiddlewareOrClasses, type JobMiddleware, type JobMiddlewareClass } from './model/job-middleware.js';
import { queuesWithOption, type MemoryQueueOptions, type PersistentQueueOptions } from './model/queue-options.js';

/** Options of a `JobsModule`. */
export interface JobsModuleOptions {
  /** Needed for a second `JobsModule` beside the first; its queues are then injected by this name. Default 'default'. */
  name?: string;
  /** Options of the memory queue. */
  memory?: MemoryQueueOptions;
  /** Options of the persistent queue, or `false` to do without it, and so without TypeORM. */
  persistent?: PersistentQueueOptions | false;
  /** Whether the workers of both queues start with the app; otherwise each queue's `start()` starts its own. Default true. */
  autoStart?: boolean;
  /** Whether Nest's guards, pipes, interceptors and filters run around handlers; each handler may say otherwise. Default false. */
  enhancers?: boolean;
  /** Code around the enqueueing of jobs and around their attempts, on both queues, outermost first: objects, or classes that are providers of the app. Default none. */
  middleware?: readonly (JobMiddleware | JobMiddlewareClass)[];
  /** What is carried from where a job is enqueued to where it runs, on both queues, outermost first. Default nothing. */
  context?: readonly ContextCarrier[];
}

/** A class that makes the options of a `JobsModule`. */
export interface JobsOptionsFactory {
  createJobsOptions(): JobsModuleOptions | Promise<JobsModuleOptions>;
}

/** Options of `JobsModule.forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface JobsModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** See `JobsModuleOptions.name`. Stands here because Nest wants to know the injection tokens ahead. */
  name?: string;
  /** What `useFactory` receives. */
  inject?: readonly (InjectionToken | OptionalFactoryDependency)[];
  /** Makes the options. */
  useFactory?: (...args: never[]) => JobsModuleOptions | Promise<JobsModuleOptions>;
  /** A class of which Nest makes an instance for this module. */
  useClass?: Type<JobsOptionsFactory>;
  /** A provider of an imported module. */
  useExisting?: InjectionToken<JobsOptionsFactory>;
  /** Providers for `useFactory` or `useClass` that no module has. */
  extraProviders?: readonly Provider[];
}

/** The module's own options, checked; those of the queues are checked by the queues. */
export interface ResolvedModuleOptions {
  readonly name: string;
  readonly memory: MemoryQueueOptions;
  readonly persistent: PersistentQueueOptions | false;
  readonly autoStart: boolean;
  readonly enhancers: boolean;
  readonly middleware: readonly (JobMiddleware | JobMiddlewareClass)[];
  readonly context: readonly ContextCarrier[];
}

const moduleKeys = ['name', 'memory', 'persistent', 'autoStart', 'enhancers', 'middleware', 'context'];
const asyncKeys = ['name', 'imports', 'inject', 'useFactory', 'useClass', 'useExisting', 'extraProviders'];
const sources = ['useFactory', 'useClass', 'useExisting'];

/** The name in the options of a module. @throws InvalidOptionError */
export function resolveName(options: { readonly name?: unknown } | undefined): string {
  return options?.name === undefined ? defaultInstanceName : checkInstanceName('name', options.name);
}

/**
 * Completes and checks the options of a module.
 *
 * @param name The name under which the module was registered.
 * @throws InvalidOptionError
 */
export function resolveModuleOptions(options: unknown, name: string): ResolvedModuleOptions {
  refuseMisplaced(options ?? {});
  const given = checkKnownKeys('JobsModule', options ?? {}, moduleKeys);
  if (given['name'] !== undefined && given['name'] !== name) {
    throw new InvalidOptionError(
      `name is ${show(given['name'])} in the options that forRootAsync was given, but must stand beside useFactory: ` +
        'Nest wants to know the injection tokens ahead',
    );
  }
  const { memory, persistent, autoStart, enhancers, middleware = [], context = [] } = given;
  return Object.freeze({
    name,
    memory: checkQueueOptions('memory', memory),
    persistent: persistent === false ? false : checkQueueOptions('persistent', persistent),
    autoStart: autoStart === undefined ? true : checkOneOf('autoStart', autoStart, [true, false] as const),
    enhancers: enhancers === undefined ? false : checkOneOf('enhancers', enhancers, [true, false] as const),
    middleware: checkMiddlewareOrClasses('middleware', middleware),
    context: checkCarriers('context', context),
  });
}

/** An option of a queue beside those of the module is the usual slip. @throws InvalidOptionError that says where it belongs. */
function refuseMisplaced(options: object): void {
  for (const key of Object.keys(options).filter((name) => !moduleKeys.includes(name))) {
    const queues = queuesWithOption(key);
    if (queues.length === 0) continue;
    const places = queues.map((queue) => `{ ${queue}: { ${key}: … } }`).join(' or ');
    throw new InvalidOptionError(`JobsModule has no option '${key}'; it is one of a queue: ${places}`);
  }
}

/** @throws InvalidOptionError unless there is exactly one source of the options. */
export function checkAsyncOptions(options: JobsModuleAsyncOptions): void {
  const given = checkKnownKeys('JobsModule.forRootAsync', options, asyncKeys);
  const present = sources.filter((source) => given[source] !== undefined);
  if (present.length !== 1) {
    throw new InvalidOptionError(
      `JobsModule.forRootAsync needs exactly one of ${sources.join(', ')}, got ${present.join(' and ') || 'none'}`,
    );
  }
}

function checkQueueOptions(key: string, options: unknown): MemoryQueueOptions & PersistentQueueOptions {
  if (options === undefined) return {};
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return options;
  const off = key === 'persistent' ? ' or false' : '';
  throw new InvalidOptionError(`${key} must be an object of options${off}, got ${show(options)}`);
}
