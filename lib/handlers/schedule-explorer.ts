import type { ModulesContainer } from '@nestjs/core';
import { show } from '../model/check.js';
import { InvalidHandlerError } from '../model/errors.js';
import type { DeclaredScheduleOptions } from '../model/schedule-options.js';
import type { FoundMethod } from './handler-host.js';
import { handlerMarks, type HandlerMark } from './handler-metadata.js';
import { MethodExplorer } from './method-explorer.js';
import { scheduleMarks, type ScheduleMark } from './schedule-metadata.js';

/** A schedule that a method has. */
export interface FoundSchedule extends Pick<ScheduleMark, 'on'> {
  readonly name: string;
  readonly options: DeclaredScheduleOptions;
  /** For messages: `@JobSchedule on Mailer.sendDigest`. */
  readonly source: string;
}

export interface ScheduleExplorerParts {
  readonly modules: ModulesContainer;
  /** Whether schedules of this instance are ours; `undefined` stands for those that are bound to none. */
  readonly isOurs: (instance: string | undefined) => boolean;
  /** Called with the schedules of modules that were loaded after the start. */
  readonly onFound: (schedules: readonly FoundSchedule[]) => void;
  /** Called with what is wrong with a module that was loaded after the start. */
  readonly onRefused: (error: unknown) => void;
}

/** Finds the methods with `@JobSchedule`. */
export class ScheduleExplorer {
  private readonly instanceNames = new Map<string, string>();
  private readonly methods: MethodExplorer<ScheduleMark>;

  /** To be constructed while Nest makes the providers. */
  constructor(private readonly parts: ScheduleExplorerParts) {
    this.methods = new MethodExplorer({
      modules: parts.modules,
      marks: scheduleMarks,
      onFound: (methods) => this.takeLate(methods),
      onRefused: parts.onRefused,
    });
  }

  /** The schedules of all modules that are loaded. @throws InvalidHandlerError where it is not clear whose jobs one makes. */
  explore(): readonly FoundSchedule[] {
    return this.methods.explore().flatMap((found) => this.schedulesOf(found));
  }

  /** Hands on the schedules of modules that have been loaded since `explore`. Cheap when there are none; never throws. */
  refresh(): void {
    this.methods.refresh();
  }

  /** The names of `JobsModule`s that schedules are bound to, each with a method that is. */
  boundInstances(): ReadonlyMap<string, string> {
    return this.instanceNames;
  }

  private takeLate(methods: readonly FoundMethod<ScheduleMark>[]): void {
    try {
      this.parts.onFound(methods.flatMap((found) => this.schedulesOf(found)));
    } catch (error) {
      this.parts.onRefused(error);
    }
  }

  private schedulesOf(found: FoundMethod<ScheduleMark>): readonly FoundSchedule[] {
    const handlers = handlerMarks.allOf(found.owner).get(found.method) ?? [];
    return found.marks.flatMap((mark) => {
      const handler = handlerOf(found, mark, handlers);
      const instance = mark.instance ?? handler.instance;
      if (mark.instance !== undefined) this.instanceNames.set(mark.instance, found.source);
      if (!this.parts.isOurs(instance)) return [];
      const { name = handler.type, options, on } = mark;
      return [{ name, on, options: { ...options, type: handler.type }, source: `@JobSchedule on ${found.source}` }];
    });
  }
}

function handlerOf(
  { source }: FoundMethod<ScheduleMark>,
  { type, instance }: ScheduleMark,
  handlers: readonly HandlerMark[],
): HandlerMark {
  const fitting = handlers.filter(
    (handler) =>
      (type === undefined || handler.type === type) &&
      (instance === undefined || handler.instance === undefined || handler.instance === instance),
  );
  const [first] = fitting;
  if (first !== undefined && fitting.every((handler) => handler.type === first.type)) return first;
  const types = handlers.map((handler) => show(handler.type)).join(', ');
  throw new InvalidHandlerError(
    first === undefined
      ? `@JobSchedule on ${source} needs a @JobHandler beside it${type === undefined ? '' : ` for the type ${show(type)}`}, ` +
          `whose jobs it makes; there is ${types || 'none'}`
      : `@JobSchedule on ${source} must say whose jobs it makes by its option type: the method handles ${types}`,
  );
}
