import type { ModulesContainer } from '@nestjs/core';
import type { Module } from '@nestjs/core/injector/module.js';
import { findMethods, pendingLoads, type FoundMethod } from './handler-host.js';
import type { HandlerMark, MethodName } from './handler-metadata.js';
import type { Handler, HandlerRegistry } from './handler-registry.js';

/** Where an explorer looks, and where it puts what it finds. */
export interface ExplorerParts {
  readonly modules: ModulesContainer;
  readonly registry: HandlerRegistry;
  /** The name of the `JobsModule`: handlers bound to another one are left alone. */
  readonly instance: string;
  /** Called with the handlers of modules that were loaded after the start. */
  readonly onFound: (handlers: readonly Handler[]) => void;
  /** Called with what is wrong with a handler of a module that was loaded after the start. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * Finds the methods with `@JobHandler` and registers them.
 *
 * At the start it looks at every provider and controller of the app; later, before each claim, at modules that
 * `LazyModuleLoader` has added. A method of a class is registered once, however many providers have the class.
 */
export class HandlerExplorer {
  private readonly atStart: ReadonlySet<Module>;
  private readonly scanned = new WeakSet<Module>();
  private readonly registered = new Map<object, Set<MethodName>>();
  private readonly instanceNames = new Map<string, string>();
  private readonly loads = new WeakMap<Promise<unknown>, 'pending' | 'settled'>();
  private readonly loading = new Set<Module>();
  private knownSize = 0;
  private hasExplored = false;

  /** To be constructed while Nest makes the providers: the modules that are there then have all theirs at `explore`. */
  constructor(private readonly parts: ExplorerParts) {
    this.atStart = new Set(parts.modules.values());
  }

  /**
   * Registers the handlers of all modules that are loaded; to be called once Nest has made the providers. A second call finds only what is new.
   *
   * @returns The new handlers.
   * @throws DuplicateHandlerError when two methods want one type.
   */
  explore(): readonly Handler[] {
    this.hasExplored = true;
    const modules = [...this.parts.modules.values()].filter((module) => this.atStart.has(module));
    const found = modules.flatMap((module) => this.scan(module));
    for (const handler of found) this.parts.registry.add(handler);
    return found;
  }

  /**
   * Registers the handlers of modules that have been loaded since `explore`; before it, does nothing: jobs may be submitted while Nest
   * makes the providers. Cheap when there are none; never throws.
   */
  refresh(): void {
    if (!this.hasExplored) return;
    const { modules } = this.parts;
    if (modules.size === this.knownSize && this.loading.size === 0) return;
    this.knownSize = modules.size;
    this.loading.clear();
    for (const module of modules.values()) {
      if (this.scanned.has(module)) continue;
      this.look(module);
    }
  }

  /** A module that cannot be looked at, since a provider of it could not be made, must not stop the workers that ask. */
  private look(module: Module): void {
    try {
      if (this.isLoaded(module)) this.take(this.scan(module));
      else this.loading.add(module);
    } catch (error) {
      this.scanned.add(module);
      this.parts.onRefused(error);
    }
  }

  /** The names of `JobsModule`s that handlers are bound to, each with a handler that is. */
  boundInstances(): ReadonlyMap<string, string> {
    return this.instanceNames;
  }

  private scan(module: Module): readonly Handler[] {
    this.scanned.add(module);
    const wrappers = [...module.providers.values(), ...module.controllers.values()];
    return wrappers
      .flatMap((wrapper) => findMethods(wrapper, module))
      .filter((found) => this.isFirst(found))
      .flatMap((found) => this.handlersOf(found));
  }

  private isFirst({ owner, method }: FoundMethod): boolean {
    const methods = this.registered.get(owner) ?? new Set();
    if (methods.has(method)) return false;
    this.registered.set(owner, methods.add(method));
    return true;
  }

  private handlersOf(found: FoundMethod): readonly Handler[] {
    for (const { instance } of found.marks) {
      if (instance !== undefined) this.instanceNames.set(instance, found.source);
    }
    return found.marks.filter((mark) => this.isOurs(mark)).map((mark) => toHandler(found, mark));
  }

  private isOurs({ instance }: HandlerMark): boolean {
    return instance === undefined || instance === this.parts.instance;
  }

  private take(handlers: readonly Handler[]): void {
    const added = handlers.filter((handler) => this.add(handler));
    if (added.length > 0) this.parts.onFound(added);
  }

  private add(handler: Handler): boolean {
    try {
      this.parts.registry.add(handler);
      return true;
    } catch (error) {
      this.parts.onRefused(error);
      return false;
    }
  }

  /** Whether all instances of a module exist; if not, looks again as soon as one more does. */
  private isLoaded(module: Module): boolean {
    const pending = pendingLoads(module);
    if (pending === 'unbegun') return false;
    for (const load of pending) this.watch(load);
    return pending.every((load) => this.loads.get(load) === 'settled');
  }

  private watch(load: Promise<unknown>): void {
    if (this.loads.has(load)) return;
    this.loads.set(load, 'pending');
    const settle = (): void => {
      this.loads.set(load, 'settled');
      this.refresh();
    };
    load.then(settle, settle);
  }
}

function toHandler(found: FoundMethod, mark: HandlerMark): Handler {
  return {
    type: mark.type,
    source: found.source,
    policy: mark.policy,
    run: (payload, job) => found.call(payload, job),
  };
}
