import type { ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from './model/errors.js';

/** What Nest calls the providers of global guards, pipes, interceptors and filters. */
const globals = ['APP_GUARD', 'APP_PIPE', 'APP_INTERCEPTOR', 'APP_FILTER'];

/**
 * Refuses global enhancers of which Nest makes one for each request: it does so for controllers alone, and around a job they would be left out
 * without a word.
 *
 * @throws InvalidOptionError
 */
export function refuseScopedGlobals(modules: ModulesContainer): void {
  for (const module of modules.values()) {
    for (const wrapper of [...module.providers.values(), ...module.injectables.values()]) {
      const token = String(wrapper.token);
      const kind = globals.find((name) => token.startsWith(name));
      if (kind === undefined || (wrapper.isDependencyTreeStatic() && !wrapper.isTransient)) continue;
      throw new InvalidOptionError(
        `enhancers cannot run the ${kind} of ${module.name}, which is request-scoped or transient, or depends on a provider that is: ` +
          'make it one instance for the whole app, or leave enhancers off',
      );
    }
  }
}
