import type { ModulesContainer } from '@nestjs/core';
import { InvalidHandlerError } from '../model/errors.js';
import type { EnhancedCaller } from './enhanced-caller.js';
import type { Caller, FoundMethod } from './handler-host.js';
import { handlerMarks, type HandlerMark } from './handler-metadata.js';
import type { Handler, HandlerRegistry } from './handler-registry.js';
import { MethodExplorer } from './method-explorer.js';

/** Where an explorer looks, and where it puts what it finds. */
export interface ExplorerParts {
  readonly modules: ModulesContainer;
  readonly registry: HandlerRegistry;
  /** The name of the `JobsModule`: handlers bound to another one are left alone. */
  readonly instance: string;
  /** Whether enhancers run around handlers that do not say so themselves. */
  readonly enhancers: boolean;
  /** Makes what calls handlers through enhancers. @throws InvalidOptionError where that cannot be. */
  readonly enhance: () => EnhancedCaller;
  /** Called with the handlers of modules that were loaded after the start. */
  readonly onFound: (handlers: readonly Handler[]) => void;
  /** Called with what is wrong with a handler of a module that was loaded after the start. */
  readonly onRefused: (error: unknown) => void;
}

/** Finds the methods with `@JobHandler` and registers them. */
export class HandlerExplorer {
  private readonly instanceNames = new Map<string, string>();
  private readonly methods: MethodExplorer<HandlerMark>;
  private caller: EnhancedCaller | undefined;

  /** To be constructed while Nest makes the providers. */
  constructor(private readonly parts: ExplorerParts) {
    this.methods = new MethodExplorer({
      modules: parts.modules,
      marks: handlerMarks,
      onFound: (methods) => this.take(methods.flatMap((found) => this.handlersOfLate(found))),
      onRefused: parts.onRefused,
    });
  }

  /**
   * Registers the handlers of all modules that are loaded; to be called once Nest has made the providers. A second call finds only what is new.
   *
   * @returns The new handlers.
   * @throws DuplicateHandlerError when two methods want one type.
   */
  explore(): readonly Handler[] {
    const found = this.methods.explore().flatMap((method) => this.handlersOf(method));
    for (const handler of found) this.parts.registry.add(handler);
    return found;
  }

  /** Registers the handlers of modules that have been loaded since `explore`. Cheap when there are none; never throws. */
  refresh(): void {
    this.methods.refresh();
  }

  /** The names of `JobsModule`s that handlers are bound to, each with a handler that is. */
  boundInstances(): ReadonlyMap<string, string> {
    return this.instanceNames;
  }

  private handlersOf(found: FoundMethod<HandlerMark>): readonly Handler[] {
    for (const { instance } of found.marks) {
      if (instance !== undefined) this.instanceNames.set(instance, found.source);
    }
    return found.marks.filter((mark) => this.isOurs(mark)).map((mark) => this.toHandler(found, mark));
  }

  /** One that cannot be made must not keep the others from being found. */
  private handlersOfLate(found: FoundMethod<HandlerMark>): readonly Handler[] {
    try {
      return this.handlersOf(found);
    } catch (error) {
      this.parts.onRefused(error);
      return [];
    }
  }

  private toHandler(found: FoundMethod<HandlerMark>, mark: HandlerMark): Handler {
    const { type, policy } = mark;
    const caller = (mark.enhancers ?? this.parts.enhancers) ? this.enhancedCaller(found) : undefined;
    return { type, policy, source: found.source, run: (payload, job) => found.call([payload, job], job, caller) };
  }

  private enhancedCaller({ isStatic, source }: FoundMethod<HandlerMark>): Caller {
    if (isStatic) {
      throw new InvalidHandlerError(
        `${source} is static, and Nest runs enhancers around methods of instances alone: make it one, or set its option enhancers: false`,
      );
    }
    this.caller ??= this.parts.enhance();
    return this.caller.call;
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
}
