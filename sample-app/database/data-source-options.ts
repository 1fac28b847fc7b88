import { join } from 'node:path';
import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config.js';
import { User } from '../signup/user.entity.js';
import { CreateUsers1700000000000 } from './create-users.migration.js';

/** A SQLite file by default, another database by `DATABASE_URL`. */
export function dataSourceOptions({ databaseUrl, dataFolder }: Config): DataSourceOptions {
  // The job table is no entity and no migration of this service: the queue looks after it by itself.
  const common = {
    entities: [User],
    migrations: [CreateUsers1700000000000],
    migrationsTableName: 'sample_migrations',
    migrationsRun: true,
  };
  if (databaseUrl === undefined) {
    return { ...common, type: 'better-sqlite3', database: join(dataFolder, 'sample.sqlite'), enableWAL: true };
  }
  const scheme = databaseUrl.split(':', 1)[0] ?? '';
  if (/^postgres(ql)?$/.test(scheme)) return { ...common, type: 'postgres', url: databaseUrl };
  if (scheme === 'mysql' || scheme === 'mariadb') return { ...common, type: scheme, url: databaseUrl };
  throw new Error(`DATABASE_URL must begin with postgres:, mysql: or mariadb:, got '${scheme}:'`);
}
