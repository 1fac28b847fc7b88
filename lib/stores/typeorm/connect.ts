import type { DataSource } from 'typeorm';
import { show } from '../../model/check.js';
import type { Clock } from '../../model/clock.js';
import { InvalidOptionError, UnsupportedDatabaseError } from '../../model/errors.js';
import type { AdministeredStore } from '../job-store.js';
import { MysqlDialect } from './dialects/mysql.dialect.js';
import { PostgresDialect } from './dialects/postgres.dialect.js';
import { SqliteDialect } from './dialects/sqlite.dialect.js';
import { hasFunctions } from './guard.js';
import type { SchemaMode } from './migrations/ensure-schema.js';
import { tableNameIn } from './table-name.js';
import { TypeOrmJobStore } from './typeorm-job-store.js';

/** What the store needs to know of the options; all of them checked and complete. */
export interface TypeOrmStoreSettings {
  /** `table`, or `schema.table` on PostgreSQL and MySQL. */
  readonly tableName: string;
  /** `auto` creates and upgrades the table, `check` only looks, `none` does not look. */
  readonly schema: SchemaMode;
  /** SQLite: how long a verb waits for the end of other transactions on the shared connection, milliseconds. */
  readonly transactionWaitMs: number;
  /** PostgreSQL and MySQL: the most connections that the store opens for itself, besides the one that listens. */
  readonly connections: number;
  /** PostgreSQL: whether to tell other processes of new jobs by NOTIFY, and to LISTEN. */
  readonly notify: boolean;
  readonly clock: Clock;
  /** Hears once of each outage that the store mends by itself. */
  readonly warn: (message: string) => void;
}

/**
 * Makes the store for the database of this DataSource, without touching it: `open` does.
 *
 * @throws UnsupportedDatabaseError when it is neither PostgreSQL, MySQL, MariaDB nor SQLite through better-sqlite3.
 * @throws InvalidOptionError when `tableName` does not fit this database, or there is no DataSource at all.
 */
export function createTypeOrmStore(dataSource: unknown, settings: TypeOrmStoreSettings): AdministeredStore {
  if (!isDataSource(dataSource)) {
    throw new InvalidOptionError(`dataSource must be a TypeORM DataSource, got ${show(dataSource)}`);
  }
  const { clock } = settings;
  const { type } = dataSource.options;
  switch (type) {
    case 'postgres':
      return new TypeOrmJobStore({ dataSource, clock, dialect: postgres(dataSource, settings), onTransactionEnd });
    case 'mysql':
    case 'mariadb':
      return new TypeOrmJobStore({ dataSource, clock, dialect: mysql(dataSource, settings), onTransactionEnd });
    case 'better-sqlite3': {
      const dialect = sqlite(dataSource, settings);
      return new TypeOrmJobStore({ dataSource, clock, dialect, onTransactionEnd: () => dialect.transactionEnded() });
    }
    default:
      throw new UnsupportedDatabaseError(
        `the persistent queue works with DataSources of type postgres, mysql, mariadb and better-sqlite3, got '${type}'`,
      );
  }
}

/** Only on SQLite does anybody wait for it. */
function onTransactionEnd(): void {}

function postgres(dataSource: DataSource, settings: TypeOrmStoreSettings): PostgresDialect {
  const { schema, connections, notify, clock, warn } = settings;
  const name = tableNameIn(dataSource, settings.tableName);
  return new PostgresDialect(dataSource, { name, schema, connections, isNotifying: notify, clock, warn });
}

function mysql(dataSource: DataSource, settings: TypeOrmStoreSettings): MysqlDialect {
  const { schema, connections, clock } = settings;
  return new MysqlDialect(dataSource, {
    name: tableNameIn(dataSource, settings.tableName),
    schema,
    connections,
    clock,
  });
}

function sqlite(dataSource: DataSource, settings: TypeOrmStoreSettings): SqliteDialect {
  const { schema, transactionWaitMs, clock } = settings;
  return new SqliteDialect(dataSource, {
    name: tableNameIn(dataSource, settings.tableName),
    schema,
    transactionWaitMs,
    clock,
  });
}

function isDataSource(value: unknown): value is DataSource {
  return hasFunctions(value, ['initialize', 'createQueryRunner']) && 'options' in Object(value);
}
