import { Scope } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { Module } from '@nestjs/core/injector/module.js';
import { InvalidHandlerError } from '../model/errors.js';
import { className, methodSource, type MethodMarks, type MethodName } from './method-marks.js';

/** A method with marks, and how to call it. */
export interface FoundMethod<M> {
  /** The class, or its prototype, that stands for this method; equal for all providers of one class. */
  readonly owner: object;
  readonly method: MethodName;
  readonly marks: readonly M[];
  /** For messages: `Mailer.send`. */
  readonly source: string;
  /** Whether it is a method of the class itself. */
  readonly isStatic: boolean;
  /**
   * @param request What `REQUEST` injects where the provider is made for this call; a job, or an event.
   * @param caller How the method is called on its host. Default: directly.
   */
  call(args: readonly unknown[], request: object, caller?: Caller): unknown;
}

/** What a method is called on. */
export interface CallHost {
  readonly instance: object;
  /** Where the instance was made for this call: the context in which, and the provider. */
  readonly contextId?: ContextId;
  readonly inquirerId?: string;
}

export interface MethodCall {
  readonly method: MethodName;
  /** The method as it is at the time of the call. */
  readonly callback: (...args: unknown[]) => unknown;
  /** For messages: `Mailer.send`. */
  readonly source: string;
  readonly args: readonly unknown[];
}

export type Caller = (host: CallHost, call: MethodCall) => unknown;

/** Where to look for marked methods. */
export interface Place {
  readonly wrapper: InstanceWrapper;
  readonly module: Module;
}

/** The marked methods of one provider or controller. Evaluates no getter and calls nothing of the provider. */
export function findMethods<M>(kind: MethodMarks<M>, { wrapper, module }: Place): readonly FoundMethod<M>[] {
  // An alias (`useExisting`) is another name of a provider that is met under its own.
  if (wrapper.isAlias) return [];
  const host = identify(wrapper, kind);
  if (host === undefined) return [];
  const name = className(host.constructor) ?? 'an anonymous class';
  const found = (owner: object, [method, marks]: MarkedMethod<M>, target: Target): FoundMethod<M> => {
    const source = methodSource(name, method);
    return {
      owner,
      method,
      marks,
      source,
      isStatic: owner === host.constructor,
      call: (args, request, caller = callDirectly) => invoke(target(request), caller, { method, source, args }),
    };
  };
  const instance = instanceTarget(wrapper, module);
  const onInstance = [...kind.allOf(host.prototype)].filter(([method]) => host.has(method));
  const onClass = host.constructor === undefined ? [] : [...kind.allOf(host.constructor)];
  return [
    ...onInstance.map((marked) => found(host.prototype, marked, instance)),
    ...onClass.map((marked) =>
      found(host.constructor ?? host.prototype, marked, () => ({ instance: host.constructor })),
    ),
  ];
}

type MarkedMethod<M> = readonly [method: MethodName, marks: readonly M[]];

/** Where the method is called: an object, or the promise of one that is made for this call. */
type Target = (request: object) => FoundHost | Promise<FoundHost>;

/** A host whose instance has not been looked at yet. */
interface FoundHost extends Omit<CallHost, 'instance'> {
  readonly instance: unknown;
}

/** What a provider is made of, as far as it can be known without touching it. */
interface HostClass {
  readonly prototype: object;
  /** The class itself, for its static methods. */
  readonly constructor: object | undefined;
  has(method: MethodName): boolean;
}

function identify(wrapper: InstanceWrapper, kind: MethodMarks<unknown>): HostClass | undefined {
  const own = ownClass(wrapper);
  if (own !== undefined && isMarked(own, kind)) return own;
  // What is provided under a marked class as its token stands in for that class, as test doubles do.
  const token = classOf(wrapper.token);
  if (token === undefined || !isMarked(token, kind)) return undefined;
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

function isMarked({ prototype, constructor }: HostClass, kind: MethodMarks<unknown>): boolean {
  const count = attempt(
    () => kind.allOf(prototype).size + (constructor === undefined ? 0 : kind.allOf(constructor).size),
  );
  return (count ?? 0) > 0;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function hasMember(instance: object, member: MethodName): boolean {
  return attempt(() => member in instance) ?? false;
}

/** A Proxy may throw from any look at it; such a provider is just none with marks. */
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
  return (request) => {
    if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return { instance: wrapper.instance };
    const moduleRef: unknown = module.providers.get(ModuleRef)?.instance;
    if (!(moduleRef instanceof ModuleRef)) throw new InvalidHandlerError(`module ${module.name} has no ModuleRef`);
    const contextId = ContextIdFactory.create();
    moduleRef.registerRequestByContextId(request, contextId);
    return moduleRef
      .resolve<unknown>(wrapper.token, contextId)
      .then((instance) => ({ instance, contextId, inquirerId: wrapper.id }));
  };
}

type Invocation = Omit<MethodCall, 'callback'>;

function invoke(host: FoundHost | Promise<FoundHost>, caller: Caller, invocation: Invocation): unknown {
  if (host instanceof Promise) return host.then((made) => callMethod(made, caller, invocation));
  return callMethod(host, caller, invocation);
}

function callMethod(host: FoundHost, caller: Caller, invocation: Invocation): unknown {
  const { method, source } = invocation;
  const { instance } = host;
  if ((typeof instance !== 'object' && typeof instance !== 'function') || instance === null) {
    throw new InvalidHandlerError(`${source} cannot run: its provider has no instance`);
  }
  // By name and at the time of the call, so that spies and decorators which replace the method are heeded.
  const callback: unknown = Reflect.get(instance, method);
  if (typeof callback !== 'function')
    throw new InvalidHandlerError(`${source} cannot run: it is no method of its provider`);
  return caller({ ...host, instance }, { ...invocation, callback: callback as MethodCall['callback'] });
}

function callDirectly({ instance }: CallHost, { callback, args }: MethodCall): unknown {
  return Reflect.apply(callback, instance, args);
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
