import type { ModulesContainer } from '@nestjs/core';
import { typeOfEvent, type JobEvent } from '../model/job-event.js';
import type { FoundMethod } from './handler-host.js';
import { listenerMarks, type ListenerMark } from './listener-metadata.js';
import { MethodExplorer } from './method-explorer.js';

/** A method that wants to be told. */
export interface JobListener extends Pick<ListenerMark, 'kind'> {
  /** For messages: `Audit.onFailed`. */
  readonly source: string;
  /** Leaves alone what it did not ask for. */
  hear(event: JobEvent): unknown;
}

export interface ListenerExplorerParts {
  readonly modules: ModulesContainer;
  /** The name of the `JobsModule`: listeners bound to another one are left alone. */
  readonly instance: string;
  /** Called with the listeners, once for each. */
  readonly onFound: (listener: JobListener) => void;
  /** Called with what is wrong with a module that was loaded after the start. */
  readonly onRefused: (error: unknown) => void;
}

/** Finds the methods with `@OnJobEvent`. */
export class ListenerExplorer {
  private readonly instanceNames = new Map<string, string>();
  private readonly methods: MethodExplorer<ListenerMark>;

  /** To be constructed while Nest makes the providers. */
  constructor(private readonly parts: ListenerExplorerParts) {
    this.methods = new MethodExplorer({
      modules: parts.modules,
      marks: listenerMarks,
      onFound: (methods) => this.take(methods),
      onRefused: parts.onRefused,
    });
  }

  /** Hands on the listeners of all modules that are loaded; to be called once Nest has made the providers. */
  explore(): void {
    this.take(this.methods.explore());
  }

  /** Hands on the listeners of modules that have been loaded since `explore`. Cheap when there are none; never throws. */
  refresh(): void {
    this.methods.refresh();
  }

  /** The names of `JobsModule`s that listeners are bound to, each with a listener that is. */
  boundInstances(): ReadonlyMap<string, string> {
    return this.instanceNames;
  }

  private take(methods: readonly FoundMethod<ListenerMark>[]): void {
    for (const found of methods) {
      for (const mark of found.marks) this.takeMark(found, mark);
    }
  }

  private takeMark(found: FoundMethod<ListenerMark>, { kind, types, instance }: ListenerMark): void {
    if (instance !== undefined) this.instanceNames.set(instance, found.source);
    if (instance !== undefined && instance !== this.parts.instance) return;
    const isWanted = (event: JobEvent): boolean => types === undefined || types.includes(typeOfEvent(event) ?? '');
    const hear = (event: JobEvent): unknown => (isWanted(event) ? found.call([event], event) : undefined);
    this.parts.onFound({ kind, source: found.source, hear });
  }
}
