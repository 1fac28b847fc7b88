import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import {
  checkAsyncOptions,
  resolveName,
  type JobsModuleAsyncOptions,
  type JobsModuleOptions,
  type JobsOptionsFactory,
} from './jobs.options.js';
import { GivenOptions, jobsProviders } from './jobs.providers.js';
import { getJobQueueToken, getJobsAdminToken, getPersistentJobQueueToken, givenOptionsToken } from './jobs.tokens.js';
import { InvalidOptionError } from './model/errors.js';

/** Takes the place of options where there are none. */
const noOptions: Provider = {
  provide: givenOptionsToken,
  useFactory: () => {
    throw new InvalidOptionError(
      'JobsModule is imported without forRoot: write JobsModule.forRoot() in the imports of the root module; it is global, so other ' +
        'modules need not import it',
    );
  },
};

/**
 * Brings both queues into an app. To be imported once, in the root module: it is global, so every module can inject `JobQueue` and
 * `PersistentJobQueue`. Further ones need a `name`. Not for a module that is loaded later: Nest calls no hooks there, so no handler would
 * be found and no worker started.
 */
@Module({ providers: [noOptions] })
export class JobsModule {
  /**
   * Options that are known when the code is loaded. They are checked when the app starts.
   *
   * @throws InvalidOptionError when `name` can be no name.
   */
  static forRoot(options: JobsModuleOptions = {}): DynamicModule {
    const given: Provider = { provide: givenOptionsToken, useValue: new GivenOptions(options) };
    return define(resolveName(options), { providers: [given] });
  }

  /**
   * Options that a provider makes, by `useFactory`, `useClass` or `useExisting`.
   *
   * @throws InvalidOptionError when `name` can be no name, or there is not exactly one of the three.
   */
  static forRootAsync(options: JobsModuleAsyncOptions): DynamicModule {
    checkAsyncOptions(options);
    const { imports, extraProviders = [] } = options;
    const providers = [...givenProviders(options), ...extraProviders];
    return define(resolveName(options), { imports, providers });
  }
}

type Given = Pick<DynamicModule, 'imports' | 'providers'>;

function define(name: string, { imports, providers = [] }: Given): DynamicModule {
  return {
    module: JobsModule,
    global: true,
    imports: imports ?? [],
    providers: [...providers, ...jobsProviders(name)],
    exports: [getJobQueueToken(name), getPersistentJobQueueToken(name), getJobsAdminToken(name)],
  };
}

function givenProviders({ inject, useFactory, useClass, useExisting }: JobsModuleAsyncOptions): readonly Provider[] {
  if (useFactory !== undefined) {
    return [{ provide: givenOptionsToken, useFactory, inject: [...(inject ?? [])] }];
  }
  const maker = useClass ?? useExisting;
  if (maker === undefined) return [];
  const given: Provider = {
    provide: givenOptionsToken,
    useFactory: (factory: JobsOptionsFactory) => factory.createJobsOptions(),
    inject: [maker],
  };
  return useClass === undefined ? [given] : [given, { provide: useClass, useClass }];
}
