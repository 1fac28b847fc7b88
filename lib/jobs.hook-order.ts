import type { ModuleRef, ModulesContainer } from '@nestjs/core';
import type { Module } from '@nestjs/core/injector/module.js';

/** Below every distance that Nest gives: the root module has 0 or 1, the modules below it have more, global ones the most. */
const nearest = -1;

/**
 * Puts a module last among those that start and first among those that stop.
 *
 * Nest calls the starting hooks in the order of falling distance from the root module, and the stopping hooks in the opposite
 * order; a global module counts as the farthest. Left like that, workers would start before the app is ready, and drain after
 * the services that the jobs use have closed. Only to be called before Nest sorts the modules, while it makes the providers.
 *
 * @returns Whether it worked. Where this Nest keeps its modules in another way, its normal order stays.
 */
export function startLastStopFirst(modules: ModulesContainer, ownRef: ModuleRef): boolean {
  try {
    const module = ownModule(modules, ownRef);
    if (module === undefined || typeof module.distance !== 'number') return false;
    module.distance = nearest;
    return module.distance === nearest;
  } catch {
    return false;
  }
}

/** The module that a `ModuleRef` was injected into. */
function ownModule(modules: ModulesContainer, ownRef: ModuleRef): Module | undefined {
  return [...modules.values()].find((module) =>
    [...module.providers.values()].some(({ instance }) => instance === ownRef),
  );
}
