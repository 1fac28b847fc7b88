import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { UnsupportedDatabaseError } from '../../../model/errors.js';
import { checkTableName, defaultTableName } from '../../../model/table-name.js';
import { isMysqlConnection } from '../dialects/mysql-pool.js';
import { migrateMysqlWithin, mysqlSchemaSql } from '../dialects/mysql-schema.js';
import { isQueryable } from '../dialects/postgres-pool.js';
import { migratePostgresWithin, postgresSchemaSql } from '../dialects/postgres-schema.js';
import { sqliteHandle } from '../dialects/sqlite-handle.js';
import { migrateSqliteWithin, sqliteSchemaSql } from '../dialects/sqlite-schema.js';
import { sqlNames, tableNameIn, type SqlNames } from '../table-name.js';
import { planFor } from './ensure-schema.js';
import { suffixesBeside } from './schema-plan.js';

/** A class that TypeORM takes in the DataSource option `migrations`. */
export type JobMigration = new () => MigrationInterface & { readonly name: string };

/** TypeORM sorts migrations by the 13 digits at the end of their names. */
const createdAt = '1764547200000';

/**
 * The migrations of a job table, for the DataSource option `migrations`: `[...yours, ...jobMigrations()]`.
 *
 * Whichever comes first, a migration or a queue with `schema: 'auto'`, the other accepts what it finds.
 *
 * @param options.tableName The same as in the options of the queue. Default 'rws_jobs'.
 * @throws InvalidOptionError
 */
export function jobMigrations({ tableName = defaultTableName }: { tableName?: string } = {}): JobMigration[] {
  checkTableName('tableName', tableName);
  return [createTableMigration(tableName)];
}

/** The migration of a job table with the default name. */
export const CreateJobs1764547200000: JobMigration = createTableMigration(defaultTableName);

function createTableMigration(tableName: string): JobMigration {
  const suffix = tableName === defaultTableName ? '' : `_${tableName.replace('.', '_')}_`;
  return class implements MigrationInterface {
    readonly name = `CreateJobs${suffix}${createdAt}`;

    async up(queryRunner: QueryRunner): Promise<void> {
      await migrate(queryRunner, namesIn(queryRunner.dataSource, tableName));
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      const names = namesIn(queryRunner.dataSource, tableName);
      const beside = suffixesBeside.map((each) => names.beside(each));
      for (const dropped of [...beside, names.table, names.versions])
        await queryRunner.query(`DROP TABLE IF EXISTS ${dropped}`);
    }
  };
}

function namesIn(dataSource: DataSource, tableName: string): SqlNames {
  const quote = ['mysql', 'mariadb'].includes(dataSource.options.type) ? '`' : '"';
  return sqlNames(tableNameIn(dataSource, tableName), quote);
}

/** On the connection of the migration, so that it is in TypeORM's transaction wherever the database can do that. */
async function migrate(queryRunner: QueryRunner, names: SqlNames): Promise<void> {
  const { type } = queryRunner.dataSource.options;
  if (type === 'better-sqlite3') {
    migrateSqliteWithin(sqliteHandle(queryRunner.dataSource), names, planFor(names, sqliteSchemaSql));
    return;
  }
  const connection: unknown = await queryRunner.connect();
  if (type === 'postgres' && isQueryable(connection)) {
    await migratePostgresWithin(connection, names, planFor(names, postgresSchemaSql));
  } else if (isMysqlConnection(connection)) {
    await migrateMysqlWithin(connection, names, planFor(names, mysqlSchemaSql));
  } else {
    throw new UnsupportedDatabaseError(`there are no job tables for a DataSource of type '${type}'`);
  }
}
