import type { DataSource } from 'typeorm';
import { resolveTableName, type TableName } from './table-name.js';

/**
 * The job table that the option `tableName` means in this DataSource.
 *
 * @throws InvalidOptionError
 */
export function tableNameIn(dataSource: DataSource, tableName: string): TableName {
  const { options } = dataSource;
  return resolveTableName(tableName, {
    entityPrefix: options.entityPrefix ?? '',
    defaultSchema: options.type === 'postgres' ? options.schema : undefined,
    hasSchemas: options.type !== 'better-sqlite3',
  });
}
