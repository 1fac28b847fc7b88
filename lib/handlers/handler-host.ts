import { Scope } from '@nestjs/common';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { Module } from '@nestjs/core/injector/module.js';
import { InvalidHandlerError } from '../model/errors.js';
import type { JobContext } from '../model/job-context.js';
import { allMarks, className, methodSource, type HandlerMark, type MethodName } from './handler-metadata.js';

/** A method with marks, and how to call it. */
export interface FoundMethod {
  /** The class, or its prototype, that stands for this method; equal for all providers of one class. */
  readonly owner: object;
  readonly method: MethodName;
  readonly marks: readonly HandlerMark[];
  /** For messages: `Mailer.send`. */
  readonly source: string;
  call(payload: unknown, job: JobContext): unknown;
}

/** The marked methods of one provider or controller. Evaluates no getter and calls nothing of the provider. */
export function findMethods(wrapper: InstanceWrapper, module: Module): readonly FoundMethod[] {
  // An alias (`useExisting`) is another name of a provider that is met under its own.
  if (wrapper.isAlias) return [];
  const host = identify(wrapper);
  if (host === undefined) return [];
  const name = className(host.constructor) ?? 'an anonymous class';
  const found = (owner: object, method: MethodName, marks: readonly HandlerMark[], target: Target): FoundMethod => {
    const source = methodSource(name, method);
    return {
      owner,
      method,
      marks,
      source,
      call: (payload, job) => invoke(target(job), method, { source, payload, job }),
    };
  };
  const instance = instanceTarget(wrapper, module);
  const onInstance = [...allMarks(host.prototype)].filter(([method]) => host.has(method));
  const onClass = host.constructor === undefined ? [] : [...allMarks(host.constructor)];
  return [
    ...onInstance.map(([method, marks]) => found(host.prototype, method, marks, instance)),
    ...onClass.map(([method, marks]) =>
      found(host.constructor ?? host.prototype, method, marks, () => host.constructor),
    ),
  ];
}

/** Where the method is called: an object, or the promise of one that is made for this attempt. */
type Target = (job: JobContext) => unknown;

/** What a provider is made of, as far as it can be known without touching it. */
interface HostClass {
  readonly prototype: object;
  /** The class itself, for its static methods. */
  readonly constructor: object | undefined;
  has(method: MethodName): boolean;
}

function identify(wrapper: InstanceWrapper): HostClass | undefined {
  const own = ownClass(wrapper);
  if (own !== undefined && isMarked(own)) return own;
  // What is provided under a marked class as its token stands in for that class, as test doubles do.
  const token = classOf(wrapper.token);
  if (token === undefined || !isMarked(token)) return undefined;
  const body: unknown = wrapper.instance;
  return isObject(body) ? { ...token, has: (method) => hasMember(body, method) } : token;
}

/** The class that a class provider names, or that the object of a value or a factory is of. */
function ownClass(wrapper: InstanceWrapper): HostClass | undefined {
  if (!wrapper.isNotMetatype) return classOf(wrapper.metatype);
  const instance: unknown = wrapper.instance;
  const prototype: unknown = isObject(instance) ? attempt((): unknown => Object.getPrototypeOf(instance)) : undefined;
  if (!isObject(prototype)) return undefined;
  const constructor: unknown = attempt((): unknown => Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value);
  return { prototype, constructor: typeof constructor === 'function' ? constructor : undefined, has: () => true };
}

function classOf(value: unknown): HostClass | undefined {
  if (typeof value !== 'function') return undefined;
  const prototype: unknown = Object.getOwnPropertyDescriptor(value, 'prototype')?.value;
  return isObject(prototype) ? { prototype, constructor: value, has: () => true } : undefined;
}

function isMarked({ prototype, constructor }: HostClass): boolean {
  const count = attempt(() => allMarks(prototype).size + (constructor === undefined ? 0 : allMarks(constructor).size));
  return (count ?? 0) > 0;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function hasMember(instance: object, member: MethodName): boolean {
  return attempt(() => member in instance) ?? false;
}

/** A Proxy may throw from any look at it; such a provider is just none with handlers. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/**
 * The object to call: the one instance, or for a provider that is request-scoped, transient or depends on a request-scoped one a new
 * one for each attempt, made in a context of its own whose `REQUEST` is the job. Nest keeps what it makes for a
 * context in weak maps by the context id, so that it goes with the attempt.
 */
function instanceTarget(wrapper: InstanceWrapper, module: Module): Target {
  return (job) => {
    if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return wrapper.instance as unknown;
    const moduleRef: unknown = module.providers.get(ModuleRef)?.instance;
    if (!(moduleRef instanceof ModuleRef)) throw new InvalidHandlerError(`module ${module.name} has no ModuleRef`);
    const contextId = ContextIdFactory.create();
    moduleRef.registerRequestByContextId(job, contextId);
    return moduleRef.resolve(wrapper.token, contextId);
  };
}

interface Invocation {
  readonly source: string;
  readonly payload: unknown;
  readonly job: JobContext;
}

function invoke(target: unknown, method: MethodName, invocation: Invocation): unknown {
  if (target instanceof Promise) return target.then((made: unknown) => callMethod(made, method, invocation));
  return callMethod(target, method, invocation);
}

function callMethod(target: unknown, method: MethodName, { source, payload, job }: Invocation): unknown {
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) {
    throw new InvalidHandlerError(`${source} cannot run: its provider has no instance`);
  }
  // By name and at the time of the call, so that spies and decorators which replace the method are heeded.
  const handler: unknown = Reflect.get(target, method);
  if (typeof handler !== 'function')
    throw new InvalidHandlerError(`${source} cannot run: it is no method of its provider`);
  return handler.call(target, payload, job);
}

/** How far the providers of a module are: `unbegun` and `pending` ones have no instance that could be called. */
export function pendingLoads(module: Module): 'unbegun' | readonly Promise<unknown>[] {
  const pending: Promise<unknown>[] = [];
  for (const wrapper of [...module.providers.values(), ...module.controllers.values()]) {
    // Request-scoped and transient ones are never made ahead. Whether others depend on such is not asked
    // here: Nest keeps the answer, which would be wrong before their own dependencies are known.
    if (wrapper.scope === Scope.REQUEST || wrapper.scope === Scope.TRANSIENT) continue;
    const host = wrapper.getInstanceByContextId(STATIC_CONTEXT);
    if (host.isResolved === true) continue;
    if (host.donePromise === undefined) return 'unbegun';
    pending.push(host.donePromise);
  }
  return pending;
}
