import type { ModulesContainer } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { ResolvedModuleOptions } from './jobs.options.js';
import { InvalidOptionError, MiddlewareError } from './model/errors.js';
import { isMiddlewareClass, type JobMiddleware, type JobMiddlewareClass } from './model/job-middleware.js';
import type { MemoryQueueOptions, PersistentQueueOptions } from './model/queue-options.js';

/** What the options of one queue are taken from. */
interface Surroundings {
  readonly modules: ModulesContainer;
  readonly options: ResolvedModuleOptions;
}

/** The options of a queue, with the middleware and context of its module around its own. */
export function withModuleLayers<O extends MemoryQueueOptions & PersistentQueueOptions>(
  { modules, options }: Surroundings,
  own: O,
): O {
  const { middleware, context } = options;
  if (middleware.length === 0 && context.length === 0) return own;
  const made = middleware.map((each) => (isMiddlewareClass(each) ? new ClassMiddleware(modules, each) : each));
  return {
    ...own,
    middleware: [...made, ...(own.middleware ?? [])],
    context: [...context, ...(own.context ?? [])],
  };
}

/**
 * Looks for the classes among the middleware, once Nest has made the providers.
 *
 * @throws InvalidOptionError when the app does not provide one, or makes more than one instance of it.
 */
export function findMiddleware(modules: ModulesContainer, middleware: ResolvedModuleOptions['middleware']): void {
  for (const each of middleware) if (isMiddlewareClass(each)) instanceOf(modules, each);
}

/** Stands for the instance that Nest makes of a class. The queues are made before it, perhaps. */
class ClassMiddleware implements JobMiddleware {
  readonly enqueue: JobMiddleware['enqueue'];
  readonly run: JobMiddleware['run'];
  private instance: JobMiddleware | undefined;

  constructor(modules: ModulesContainer, type: JobMiddlewareClass) {
    const get = (): JobMiddleware => (this.instance ??= instanceOf(modules, type));
    const prototype = type.prototype as object;
    // What stands in for the instance, as test doubles do, may lack the method.
    if ('enqueue' in prototype) {
      this.enqueue = (jobs, next) => {
        const made = get();
        return made.enqueue === undefined ? next() : made.enqueue(jobs, next);
      };
    }
    if ('run' in prototype) {
      this.run = (job, next) => {
        const made = get();
        return made.run === undefined ? next() : made.run(job, next);
      };
    }
  }
}

/** @throws InvalidOptionError | MiddlewareError */
function instanceOf(modules: ModulesContainer, type: JobMiddlewareClass): JobMiddleware {
  const wrapper = find(modules, type);
  if (wrapper === undefined) {
    throw new InvalidOptionError(
      `middleware names the class ${type.name}, which the app does not provide: list it among the providers of a module`,
    );
  }
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    throw new InvalidOptionError(
      `middleware names the class ${type.name}, which is request-scoped or transient, or depends on a provider that is: ` +
        'middleware has to be one instance for the whole app',
    );
  }
  const host = wrapper.getInstanceByContextId(STATIC_CONTEXT);
  if (host.isResolved === true) return host.instance as JobMiddleware;
  throw new MiddlewareError(
    `the middleware ${type.name} is not made yet: enqueue in onModuleInit() or later, not while Nest makes the providers`,
  );
}

function find(modules: ModulesContainer, type: JobMiddlewareClass): InstanceWrapper | undefined {
  return [...modules.values()].map(({ providers }) => providers.get(type)).find((wrapper) => wrapper !== undefined);
}
