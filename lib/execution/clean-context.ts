import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs a function outside of every caller's asynchronous context.
 *
 * A worker woken from inside `enqueue()` would otherwise inherit the caller's stores (ambient transaction,
 * tenant, span) and hand them on to jobs that have nothing to do with them. The snapshot is taken while this module loads, before anybody's request.
 */
export const runClean: <R>(run: () => R) => R = AsyncLocalStorage.snapshot();
