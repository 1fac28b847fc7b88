import type { HandlerPolicy } from '../model/handler-policy.js';

/** What one `@JobHandler` says of its method. */
export interface HandlerMark {
  readonly type: string;
  /** The only `JobsModule` that this handler serves; `undefined` means every one. */
  readonly instance: string | undefined;
  readonly policy: HandlerPolicy;
}

export type MethodName = string | symbol;

type Marks = ReadonlyMap<MethodName, readonly HandlerMark[]>;

/** Shared by all copies of this library in one process, so that a decorator of one copy is seen by the module of another. */
const marksKey = Symbol.for('nestjs-jobs:handlers');

/** Adds a mark to a method. `owner` is what a method decorator receives: the prototype, or the class of a static method. */
export function addMark(owner: object, method: MethodName, mark: HandlerMark): void {
  const present = ownMarks(owner);
  const marks = new Map(present).set(method, [...(present.get(method) ?? []), mark]);
  // Not enumerable, so that code which copies or prints the members of a class does not meet it.
  Object.defineProperty(owner, marksKey, { value: marks, configurable: true });
}

/** The marks on the methods of `owner` itself, without those that it inherits. */
export function ownMarks(owner: object): Marks {
  const value: unknown = Object.getOwnPropertyDescriptor(owner, marksKey)?.value;
  return value instanceof Map ? value : new Map();
}

/**
 * The marks of all methods of `owner`, inherited ones included.
 *
 * They are kept by the name of the method, and of an overriding method and the overridden one the nearest with marks counts. So a
 * method that overrides a handler without a decorator of its own is the handler, as is one that another decorator replaced.
 */
export function allMarks(owner: object): Marks {
  const marks = new Map<MethodName, readonly HandlerMark[]>();
  for (const ancestor of ancestors(owner)) {
    for (const [method, found] of ownMarks(ancestor)) {
      if (!marks.has(method)) marks.set(method, found);
    }
  }
  return marks;
}

function* ancestors(owner: object): Generator<object> {
  let ancestor: unknown = owner;
  while (typeof ancestor === 'function' || (typeof ancestor === 'object' && ancestor !== null)) {
    yield ancestor;
    ancestor = Object.getPrototypeOf(ancestor);
  }
}

/** A method as messages name it: `Mailer.send`, `Mailer[Symbol(send)]`. */
export function methodSource(host: string, method: MethodName): string {
  return typeof method === 'symbol' ? `${host}[${String(method)}]` : `${host}.${method}`;
}

/** The class name of a decorated member's owner: of the class itself, or of the class whose prototype it is. */
export function ownerName(owner: object): string {
  const constructor: unknown =
    typeof owner === 'function' ? owner : Object.getOwnPropertyDescriptor(owner, 'constructor')?.value;
  return className(constructor) ?? 'an anonymous class';
}

/** The name of a class, without running a static `name` of its own. */
export function className(constructor: unknown): string | undefined {
  if (typeof constructor !== 'function') return undefined;
  const name: unknown = Object.getOwnPropertyDescriptor(constructor, 'name')?.value;
  return typeof name === 'string' && name !== '' ? name : undefined;
}
