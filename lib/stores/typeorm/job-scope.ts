import { AsyncLocalStorage } from 'node:async_hooks';

/** The EntityManager of the transaction that a handler runs in, for what is called from it. */
const managers = new AsyncLocalStorage<object>();

export function inJobScope<T>(manager: object, work: () => T): T {
  return managers.run(manager, work);
}

export function jobScopeManager(): object | undefined {
  return managers.getStore();
}
