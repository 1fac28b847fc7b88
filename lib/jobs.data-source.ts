import type { ModulesContainer } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import { show } from './model/check.js';
import { InvalidOptionError, MissingDataSourceError } from './model/errors.js';

/** What is asked of a TypeORM DataSource here. TypeORM itself is not imported: the app may do without it. */
export interface DataSourceLike {
  readonly isInitialized: boolean;
  readonly options: object;
  readonly createQueryRunner: unknown;
}

const pollMs = 10;
/** Longest wait while the app starts. Only a circle of providers that wait for each other, or a database that stays away, takes longer. */
const longestStartMs = 120_000;

/**
 * Finds the DataSource of a persistent queue among the app's providers.
 *
 * Jobs may be enqueued while Nest still makes its providers, so the DataSource is awaited until it is initialised. Once the app's
 * `onModuleInit` hooks have run (`settle`), one that is not there counts as missing at once.
 */
export class DataSourceFinder {
  private isSettled = false;
  private found: Promise<DataSourceLike> | undefined;

  /**
   * @param wanted A DataSource, the name of one, or `undefined` for the default one.
   * @throws InvalidOptionError when it is none of these.
   */
  constructor(
    private readonly modules: ModulesContainer,
    private readonly wanted: unknown,
  ) {
    const isName = typeof wanted === 'string' && wanted !== '';
    if (wanted !== undefined && !isName && !isDataSource(wanted)) {
      throw new InvalidOptionError(
        `persistent.dataSource must be a TypeORM DataSource or the name of one, got ${show(wanted)}`,
      );
    }
  }

  /**
   * Resolves with the initialised DataSource.
   *
   * @throws MissingDataSourceError when the app has none of this name, or it is not initialised in time.
   */
  find(): Promise<DataSourceLike> {
    this.found ??= this.search().finally(() => (this.found = undefined));
    return this.found;
  }

  /** The same, or `undefined` where the app has none. */
  async findIfAny(): Promise<DataSourceLike | undefined> {
    try {
      return await this.find();
    } catch (error) {
      if (error instanceof MissingDataSourceError) return undefined;
      throw error;
    }
  }

  /** The app's providers are made and its `onModuleInit` hooks have run: nothing more is waited for. */
  settle(): void {
    this.isSettled = true;
  }

  private async search(): Promise<DataSourceLike> {
    const deadline = performance.now() + longestStartMs;
    for (;;) {
      const candidates = this.candidates();
      const ready = candidates.find((candidate) => isDataSource(candidate) && candidate.isInitialized);
      if (isDataSource(ready)) return ready;
      if (candidates.length === 0) throw new MissingDataSourceError(this.describeMissing());
      if (candidates.every((candidate) => candidate === failed))
        throw new MissingDataSourceError(this.describeFailed());
      if (this.isSettled || performance.now() >= deadline) throw new MissingDataSourceError(this.describeUnready());
      // The timer holds the process: nothing else may hold a script that is just starting.
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  /** What stands, or will stand, for the DataSource; empty where no provider can. */
  private candidates(): readonly unknown[] {
    if (isDataSource(this.wanted)) return [this.wanted];
    return this.providers()
      .filter((wrapper) => this.isWanted(wrapper))
      .map(stateOf);
  }

  private isWanted(wrapper: InstanceWrapper): boolean {
    const token: unknown = wrapper.token;
    const name = this.wanted ?? defaultName;
    if (name === defaultName) return isDefaultToken(token);
    if (typeof token !== 'string' || typeof name !== 'string') return false;
    // A provider of just this name may be one of the app's own, which need not follow the naming of @nestjs/typeorm.
    return token === `${name}${tokenEnd}` || (token === name && stateOf(wrapper) !== failed);
  }

  private providers(): readonly InstanceWrapper[] {
    return [...this.modules.values()].flatMap((module) => [...module.providers.values()]);
  }

  private describeMissing(): string {
    const names = this.names();
    const present = names.length === 0 ? 'the app has none' : `the app has ${names.map(show).join(', ')}`;
    if (this.wanted === undefined && names.length === 0) {
      return (
        'the persistent queue found no TypeORM DataSource: import TypeOrmModule.forRoot({ ... }) in the root module, ' +
        'or do without this queue by JobsModule.forRoot({ persistent: false })'
      );
    }
    const wanted = this.wanted === undefined ? 'default TypeORM DataSource' : `TypeORM DataSource ${show(this.wanted)}`;
    const name = this.wanted === undefined ? '' : `name: ${show(this.wanted)}, `;
    return (
      `the persistent queue found no ${wanted} (${present}): import TypeOrmModule.forRoot({ ${name}... }) in the root ` +
      'module, or name another one in JobsModule.forRoot({ persistent: { dataSource } })'
    );
  }

  private describeUnready(): string {
    return (
      `the persistent queue found ${this.describeWanted()}, but it is not initialised: ` +
      'call its initialize() before the app starts, or in an onModuleInit hook at the latest'
    );
  }

  private describeFailed(): string {
    return `the persistent queue found ${this.describeWanted()}, but it could not be made: see the error of its provider`;
  }

  private describeWanted(): string {
    return typeof this.wanted === 'string' ? `the TypeORM DataSource ${show(this.wanted)}` : 'the TypeORM DataSource';
  }

  private names(): readonly string[] {
    const tokens = this.providers().map(({ token }): unknown => token);
    const named = tokens.filter((token): token is string => typeof token === 'string' && token.endsWith(tokenEnd));
    const names = named.map((token) => token.slice(0, -tokenEnd.length)).filter((name) => name !== '');
    return [...new Set([...(tokens.some(isDefaultToken) ? [defaultName] : []), ...names])];
  }
}

/** What @nestjs/typeorm calls the DataSource without a name, and the end of the tokens of the others. */
const defaultName = 'default';
const tokenEnd = 'DataSource';

/** What is known of a provider that is made, or failed to be made, and is no DataSource. */
const failed = Symbol('no DataSource');

/** The instance of a provider; `undefined` while it is being made. */
function stateOf(wrapper: InstanceWrapper): unknown {
  try {
    const host = wrapper.getInstanceByContextId(STATIC_CONTEXT);
    const instance: unknown = host.instance;
    return isDataSource(instance) || host.isResolved !== true || instance instanceof Promise ? instance : failed;
  } catch {
    // The first releases of Nest 11 overflow the stack when asked for a provider that could not be made.
    return failed;
  }
}

/** By the name of the class, since an app may hold several copies of TypeORM. */
function isDefaultToken(token: unknown): boolean {
  return typeof token === 'function' && token.name === 'DataSource';
}

function isDataSource(value: unknown): value is DataSourceLike {
  return (
    typeof value === 'object' &&
    value !== null &&
    'isInitialized' in value &&
    typeof value.isInitialized === 'boolean' &&
    'options' in value &&
    'createQueryRunner' in value
  );
}
