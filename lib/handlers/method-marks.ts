export type MethodName = string | symbol;

/**
 * What decorators of one kind say of methods.
 *
 * Marks are kept by the name of the method, and of an overriding method and the overridden one the nearest with marks counts. So a
 * method that overrides a marked one without a decorator of its own is marked as well, as is one that another decorator replaced.
 */
export class MethodMarks<M> {
  /** Shared by all copies of this library in one process, so that a decorator of one copy is seen by the module of another. */
  private readonly key: symbol;

  constructor(kind: string) {
    this.key = Symbol.for(`nestjs-jobs:${kind}`);
  }

  /** Adds a mark to a method. `owner` is what a method decorator receives: the prototype, or the class of a static method. */
  add(owner: object, method: MethodName, mark: M): void {
    const present = this.ownOf(owner);
    const marks = new Map(present).set(method, [...(present.get(method) ?? []), mark]);
    // Not enumerable, so that code which copies or prints the members of a class does not meet it.
    Object.defineProperty(owner, this.key, { value: marks, configurable: true });
  }

  /** The marks on the methods of `owner` itself, without those that it inherits. */
  ownOf(owner: object): ReadonlyMap<MethodName, readonly M[]> {
    const value: unknown = Object.getOwnPropertyDescriptor(owner, this.key)?.value;
    return value instanceof Map ? value : new Map();
  }

  /** The marks of all methods of `owner`, inherited ones included. */
  allOf(owner: object): ReadonlyMap<MethodName, readonly M[]> {
    const marks = new Map<MethodName, readonly M[]>();
    for (const ancestor of ancestors(owner)) {
      for (const [method, found] of this.ownOf(ancestor)) {
        if (!marks.has(method)) marks.set(method, found);
      }
    }
    return marks;
  }
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
