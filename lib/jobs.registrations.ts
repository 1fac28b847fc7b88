import type { ModulesContainer } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { Module } from '@nestjs/core/injector/module.js';
import { instanceNameToken } from './jobs.tokens.js';
import { DuplicateJobsModuleError, InvalidOptionError, PersistentQueueDisabledError } from './model/errors.js';
import { defaultInstanceName } from './model/instance-name.js';
import { JobsRuntime } from './runtime/jobs-runtime.js';

/** All registrations of `JobsModule` in an app: what they must know of each other, and of who uses them. */
export class JobsRegistrations {
  constructor(private readonly modules: ModulesContainer) {}

  /** Those that are running. */
  runtimes(): readonly JobsRuntime[] {
    return this.all()
      .map((module): unknown => module.providers.get(JobsRuntime)?.instance)
      .filter((instance) => instance instanceof JobsRuntime);
  }

  /**
   * Two modules of one name would start two sets of workers, and nobody could say which of them is injected.
   *
   * @throws DuplicateJobsModuleError
   */
  refuseDuplicates(name: string): void {
    const count = this.names().filter((other) => other === name).length;
    if (count < 2) return;
    throw new DuplicateJobsModuleError(
      `JobsModule is registered ${count} times under the name '${name}': call forRoot() once, in the root module ` +
        '(it is global, so every module can inject its queues), or give each its own name, as in ' +
        `JobsModule.forRoot({ name: '${name === defaultInstanceName ? 'reports' : `${name}-2`}' })`,
    );
  }

  /**
   * @param decorator For messages: what binds to them.
   * @param bound The names that methods are bound to, each with one of its methods.
   * @throws InvalidOptionError when no module has such a name.
   */
  refuseUnknownInstances(decorator: string, bound: ReadonlyMap<string, string>): void {
    const names = this.names();
    for (const [name, source] of bound) {
      if (names.includes(name)) continue;
      const known = names.map((other) => `'${other}'`).join(', ');
      throw new InvalidOptionError(
        `${decorator} on ${source} is bound to the instance '${name}', but no JobsModule has this name (there is ${known}): ` +
          `import JobsModule.forRoot({ name: '${name}' }), or mend the option instance`,
      );
    }
  }

  /**
   * @param name The module that was told to do without its persistent queue.
   * @param token The token of that queue, or of what stands on it.
   * @throws PersistentQueueDisabledError when some provider has it injected all the same.
   */
  refuseDisabledInjection(name: string, token: unknown): void {
    const owner = this.all().find((module) => nameOf(module) === name);
    const queue = [...(owner?.providers.values() ?? [])].find((wrapper) => wrapper.token === token);
    const wrappers = [...this.modules.values()].filter((module) => module !== owner).flatMap(membersOf);
    const injector = wrappers.find((wrapper) => queue !== undefined && needs(wrapper, queue));
    if (injector !== undefined) throw disabledError(name, String(injector.name));
  }

  /** The module that has what is bound to none: the one without a name, else the first. */
  main(): string | undefined {
    const names = this.names();
    return names.find((name) => name === defaultInstanceName) ?? names[0];
  }

  private names(): readonly string[] {
    return this.all()
      .map(nameOf)
      .filter((name) => typeof name === 'string');
  }

  private all(): readonly Module[] {
    return [...this.modules.values()].filter((module) => module.providers.has(instanceNameToken));
  }
}

/** What is said where the persistent queue is used although it is switched off. */
export function disabledError(name: string, user = 'something'): PersistentQueueDisabledError {
  const options = name === defaultInstanceName ? 'persistent: false' : `name: '${name}', persistent: false`;
  return new PersistentQueueDisabledError(
    `${user} uses PersistentJobQueue, but JobsModule.forRoot({ ${options} }) does without it: ` +
      'remove persistent: false, or use JobQueue instead',
  );
}

function nameOf(module: Module): unknown {
  return module.providers.get(instanceNameToken)?.instance;
}

function membersOf(module: Module): readonly InstanceWrapper[] {
  return [...module.providers.values(), ...module.controllers.values(), ...module.injectables.values()];
}

/** Whether a provider has another one injected and did not say that it can do without. */
function needs(wrapper: InstanceWrapper, dependency: InstanceWrapper): boolean {
  const index = wrapper.getCtorMetadata()?.indexOf(dependency) ?? -1;
  if (index !== -1) return !isOptional(wrapper, index);
  return wrapper.getPropertiesMetadata()?.some((property) => property.wrapper === dependency) ?? false;
}

function isOptional(wrapper: InstanceWrapper, index: number): boolean {
  const given: unknown = wrapper.inject?.[index];
  if (typeof given === 'object' && given !== null && 'optional' in given) return given.optional === true;
  // Where Nest's @Optional() keeps the parameters that it stands on.
  const optional: unknown =
    typeof wrapper.metatype === 'function' ? Reflect.getMetadata('optional:paramtypes', wrapper.metatype) : undefined;
  return Array.isArray(optional) && optional.includes(index);
}
