import type { DynamicModule, INestApplicationContext, LoggerService, ModuleMetadata } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobsModule, type JobsModuleOptions } from 'nestjs-jobs';
import type { DataSource } from 'typeorm';
import { startApp } from './jobs-app.js';
import { quickOptions } from './queue-rig.js';

/** `TypeOrmModule` over a DataSource that is open already, so that a test can put jobs into its table before the app starts. */
export function typeOrm(dataSource: DataSource, name?: string): DynamicModule {
  const named = name === undefined ? {} : { name };
  return TypeOrmModule.forRootAsync({
    ...named,
    useFactory: () => ({ ...dataSource.options, ...named }),
    dataSourceFactory: async () => dataSource,
  });
}

/** `JobsModule` with quick options. */
export function quickJobs({ persistent = {}, ...options }: JobsModuleOptions = {}): DynamicModule {
  return JobsModule.forRoot({
    ...options,
    persistent: persistent === false ? false : { ...quickOptions, ...persistent },
  });
}

/** Starts an app with both queues over this database. It closes the DataSource when it closes. */
export function startDatabaseApp(
  dataSource: DataSource,
  metadata: ModuleMetadata,
  { logger = false, ...options }: JobsModuleOptions & { readonly logger?: LoggerService | false } = {},
): Promise<INestApplicationContext> {
  const imports = [typeOrm(dataSource), quickJobs(options), ...(metadata.imports ?? [])];
  return startApp({ ...metadata, imports }, logger);
}
