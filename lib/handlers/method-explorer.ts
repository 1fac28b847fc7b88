import type { ModulesContainer } from '@nestjs/core';
import type { Module } from '@nestjs/core/injector/module.js';
import { findMethods, pendingLoads, type FoundMethod } from './handler-host.js';
import type { MethodMarks, MethodName } from './method-marks.js';

/** Where an explorer looks, and what becomes of what it finds late. */
export interface MethodExplorerParts<M> {
  readonly modules: ModulesContainer;
  /** The marks to look for. */
  readonly marks: MethodMarks<M>;
  /** Called with the methods of a module that was loaded after the start. */
  readonly onFound: (methods: readonly FoundMethod<M>[]) => void;
  /** Called with what is wrong with a module that was loaded after the start. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * Finds the marked methods of an app.
 *
 * At the start it looks at every provider and controller of the app; later, before each claim, at modules that
 * `LazyModuleLoader` has added. A method of a class is found once, however many providers have the class.
 */
export class MethodExplorer<M> {
  private readonly atStart: ReadonlySet<Module>;
  private readonly scanned = new WeakSet<Module>();
  private readonly known = new Map<object, Set<MethodName>>();
  private readonly loads = new WeakMap<Promise<unknown>, 'pending' | 'settled'>();
  private readonly loading = new Set<Module>();
  private knownSize = 0;
  private hasExplored = false;

  /** To be constructed while Nest makes the providers: the modules that are there then have all theirs at `explore`. */
  constructor(private readonly parts: MethodExplorerParts<M>) {
    this.atStart = new Set(parts.modules.values());
  }

  /** The methods of all modules that are loaded; to be called once Nest has made the providers. A second call finds only what is new. */
  explore(): readonly FoundMethod<M>[] {
    this.hasExplored = true;
    const modules = [...this.parts.modules.values()].filter((module) => this.atStart.has(module));
    return modules.flatMap((module) => this.scan(module));
  }

  /**
   * Looks at modules that have been loaded since `explore`; before it, does nothing: jobs may be submitted while Nest
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

  private take(methods: readonly FoundMethod<M>[]): void {
    if (methods.length > 0) this.parts.onFound(methods);
  }

  private scan(module: Module): readonly FoundMethod<M>[] {
    this.scanned.add(module);
    const wrappers = [...module.providers.values(), ...module.controllers.values()];
    return wrappers
      .flatMap((wrapper) => findMethods(this.parts.marks, { wrapper, module }))
      .filter((found) => this.isFirst(found));
  }

  private isFirst({ owner, method }: FoundMethod<M>): boolean {
    const methods = this.known.get(owner) ?? new Set();
    if (methods.has(method)) return false;
    this.known.set(owner, methods.add(method));
    return true;
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
