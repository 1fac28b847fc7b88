import type { ModuleMetadata } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionError, MissingDataSourceError } from 'nestjs-jobs';
import { DataSourceFinder } from '../../lib/jobs.data-source.js';
import { closeApps, startApp } from '../support/jobs-app.js';

/** Stands for TypeORM's DataSource, whose class name is the token of the default one. */
class DataSource {
  isInitialized = true;
  readonly options = {};
  readonly createQueryRunner = (): undefined => undefined;
}

afterEach(closeApps);

async function finderFor(providers: ModuleMetadata['providers'], wanted?: unknown): Promise<DataSourceFinder> {
  const app = await startApp({ providers });
  return new DataSourceFinder(app.get(ModulesContainer), wanted);
}

/** A finder, and the promise of what it finds, of an app that is still making its DataSource. */
function startSearch(useFactory: () => Promise<unknown>): Promise<DataSourceFinder> {
  return new Promise((resolve) => {
    const inspect = {
      provide: 'INSPECT',
      inject: [ModulesContainer],
      useFactory: (modules: ModulesContainer) => resolve(new DataSourceFinder(modules, undefined)),
    };
    startApp({ providers: [inspect, { provide: DataSource, useFactory }] }).catch(() => undefined);
  });
}

describe('the DataSource of a persistent queue', () => {
  it('is by default the provider of the class DataSource', async () => {
    const dataSource = new DataSource();
    const finder = await finderFor([{ provide: DataSource, useValue: dataSource }]);

    await expect(finder.find()).resolves.toBe(dataSource);
  });

  it("may be called 'default'", async () => {
    const dataSource = new DataSource();
    const finder = await finderFor([{ provide: DataSource, useValue: dataSource }], 'default');

    await expect(finder.find()).resolves.toBe(dataSource);
  });

  it('is found under the token that @nestjs/typeorm makes of a name', async () => {
    const dataSource = new DataSource();
    const providers = [
      { provide: DataSource, useValue: new DataSource() },
      { provide: 'reportsDataSource', useValue: dataSource },
    ];
    const finder = await finderFor(providers, 'reports');

    await expect(finder.find()).resolves.toBe(dataSource);
  });

  it('is found under a token of the app itself', async () => {
    const dataSource = new DataSource();
    const finder = await finderFor([{ provide: 'DATA_SOURCE', useValue: dataSource }], 'DATA_SOURCE');

    await expect(finder.find()).resolves.toBe(dataSource);
  });

  it('may be given itself', async () => {
    const dataSource = new DataSource();
    const finder = await finderFor([], dataSource);

    await expect(finder.find()).resolves.toBe(dataSource);
  });

  it('is awaited while the app makes it', async () => {
    const dataSource = new DataSource();
    let make: (made: DataSource) => void = () => undefined;
    const finder = await startSearch(() => new Promise((resolve) => (make = resolve)));
    const found = finder.find();

    make(dataSource);

    await expect(found).resolves.toBe(dataSource);
  });

  it('is awaited until it is initialised', async () => {
    const dataSource = new DataSource();
    dataSource.isInitialized = false;
    const finder = await finderFor([{ provide: DataSource, useValue: dataSource }]);
    const found = finder.find();

    dataSource.isInitialized = true;

    await expect(found).resolves.toBe(dataSource);
  });
});

describe('a DataSource that is missing', () => {
  it('is reported at once, with what to do', async () => {
    const finder = await finderFor([]);

    await expect(finder.find()).rejects.toThrow(
      new MissingDataSourceError(
        'the persistent queue found no TypeORM DataSource: import TypeOrmModule.forRoot({ ... }) in the root module, ' +
          'or do without this queue by JobsModule.forRoot({ persistent: false })',
      ),
    );
  });

  it('under its name is reported with the names that there are', async () => {
    const providers = [
      { provide: DataSource, useValue: new DataSource() },
      { provide: 'auditDataSource', useValue: new DataSource() },
    ];
    const finder = await finderFor(providers, 'reports');

    await expect(finder.find()).rejects.toThrow(
      new MissingDataSourceError(
        "the persistent queue found no TypeORM DataSource 'reports' (the app has 'default', 'audit'): " +
          "import TypeOrmModule.forRoot({ name: 'reports', ... }) in the root module, " +
          'or name another one in JobsModule.forRoot({ persistent: { dataSource } })',
      ),
    );
  });

  it('as the default one is reported with the names that there are', async () => {
    const finder = await finderFor([{ provide: 'auditDataSource', useValue: new DataSource() }]);

    await expect(finder.find()).rejects.toThrow("found no default TypeORM DataSource (the app has 'audit')");
  });

  it('is not made up by something else of that name', async () => {
    const finder = await finderFor([{ provide: 'reports', useValue: 'a text' }], 'reports');

    await expect(finder.find()).rejects.toThrow("found no TypeORM DataSource 'reports' (the app has none)");
  });

  it('because it is never initialised is reported when the app has started', async () => {
    const dataSource = new DataSource();
    dataSource.isInitialized = false;
    const finder = await finderFor([{ provide: DataSource, useValue: dataSource }]);
    const found = finder.find();

    finder.settle();

    await expect(found).rejects.toThrow(
      new MissingDataSourceError(
        'the persistent queue found the TypeORM DataSource, but it is not initialised: ' +
          'call its initialize() before the app starts, or in an onModuleInit hook at the latest',
      ),
    );
  });

  it('because its provider failed is not waited for', async () => {
    const finder = await startSearch(() => Promise.reject(new Error('connection refused')));

    await expect(finder.find()).rejects.toThrow('could not be made: see the error of its provider');
  });

  it.each([[42], [''], [{}], [null], [{ type: 'postgres' }]])('as the option %j is refused', async (wanted) => {
    await expect(finderFor([], wanted)).rejects.toThrow(InvalidOptionError);
  });
});
