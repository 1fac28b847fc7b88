import { ForbiddenException, type PipeTransform } from '@nestjs/common';
import type { ContextId, ExternalContextCreator } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Caller, MethodCall } from './handler-host.js';

type Run = (...args: unknown[]) => unknown;

interface Parameter {
  readonly type: unknown;
}

/** What is taken over from Nest's creator, and what is put in the place of its own parts. */
interface Parts {
  create(...args: readonly unknown[]): Run;
  getParamValue(value: unknown, metadata: Parameter, pipes: readonly PipeTransform[]): Promise<unknown>;
  createGuardsFn(...args: readonly unknown[]): ((args: readonly unknown[]) => Promise<void>) | null;
}

/** What Nest asks of the filters that were found for a method. */
interface Filters {
  invokeCustomFilters(error: unknown, host: ExecutionContextHost): unknown;
}

/** What `ExecutionContext.getType()` says around a job. */
const contextType = 'jobs';
/** Pipes take the payload for what Nest's enum of parameters calls the body: `ValidationPipe` looks at no other kind. */
const body = 3;
const parameters = [
  { index: 0, type: body, data: undefined, pipes: [], extractValue: (payload: unknown) => payload },
  { index: 1, type: contextType, data: undefined, pipes: [], extractValue: (_payload: unknown, job: unknown) => job },
];
/** What Nest throws where a guard says no. */
const plainRefusal = 'Forbidden resource';

/**
 * Calls handlers through Nest's guards, interceptors, pipes and filters, global ones and those of their class and method.
 *
 * Nest's own `ExternalContextCreator` puts them together. It leaves to pipes every parameter, so here the job is kept from them; and it logs
 * what no filter catches, which the queue does already.
 */
export class EnhancedCaller {
  /** By instance, and by the method as it is at the time: spies may replace it. */
  private readonly made = new WeakMap<object, Map<unknown, Run>>();

  constructor(private readonly creator: ExternalContextCreator) {}

  readonly call: Caller = ({ instance, contextId, inquirerId }, call) => {
    const run =
      contextId === undefined ? this.known(instance, call) : this.make(instance, call, { contextId, inquirerId });
    return run(...call.args);
  };

  private known(instance: object, call: MethodCall): Run {
    const runs = this.made.get(instance) ?? new Map<unknown, Run>();
    this.made.set(instance, runs);
    const run = runs.get(call.callback) ?? this.make(instance, call);
    runs.set(call.callback, run);
    return run;
  }

  private make(
    instance: object,
    call: MethodCall,
    scope?: { contextId: ContextId; inquirerId: string | undefined },
  ): Run {
    const all = { guards: true, interceptors: true, filters: true };
    const { callback, method } = call;
    const place = [instance, callback, String(method), undefined, undefined, scope?.contextId, scope?.inquirerId];
    return this.partsOf(instance, call).create(...place, all, contextType);
  }

  private partsOf(instance: object, { method, source }: MethodCall): Parts {
    const nest = this.creator as unknown as Parts;
    const paramtypes: unknown = Reflect.getMetadata('design:paramtypes', instance, method);
    const getParamsMetadata = (): unknown => parameters;
    return Object.assign(Object.create(this.creator) as Parts, {
      getMetadata: () => ({ argsLength: 2, paramtypes, getParamsMetadata }),
      getParamValue: (value: unknown, metadata: Parameter, pipes: readonly PipeTransform[]): unknown =>
        metadata.type === body ? nest.getParamValue(value, metadata, pipes) : value,
      createGuardsFn: (...args: readonly unknown[]) => namingRefusals(nest.createGuardsFn(...args), source),
      externalErrorProxy: { createProxy: filtering },
    });
  }
}

function namingRefusals(guard: ReturnType<Parts['createGuardsFn']>, source: string): typeof guard {
  if (guard === null) return null;
  return async (args) => {
    try {
      await guard(args);
    } catch (error) {
      const isPlain = error instanceof ForbiddenException && error.message === plainRefusal;
      throw isPlain ? new ForbiddenException(`a guard refused ${source}`) : error;
    }
  };
}

/** Hands errors to the filters. One that returns nothing leaves the error as it is, as everywhere outside of HTTP. */
function filtering(run: Run, filters: Filters, type: string): Run {
  return async (...args) => {
    try {
      return await run(...args);
    } catch (error) {
      const host = new ExecutionContextHost(args);
      host.setType(type);
      const result: unknown = filters.invokeCustomFilters(error, host);
      if (result === undefined || result === null) throw error;
      return result;
    }
  };
}
