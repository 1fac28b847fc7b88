import type { DataSource } from 'typeorm';
import { show } from '../../model/check.js';
import { InvalidOptionError } from '../../model/errors.js';
import { checkTable, splitTableName, type TableName } from '../../model/table-name.js';

/** The names of our tables and indexes, quoted for one database. */
export interface SqlNames {
  readonly name: TableName;
  /** Quoted, with the schema where there is one. */
  readonly table: string;
  readonly versions: string;
  /** Quoted: the table of throttles. */
  readonly slots: string;
  /** Quoted: the table of statistics. */
  readonly statistics: string;
  /** Quoted: the table of batches. */
  readonly batches: string;
  /** Quoted: the table of schedules. */
  readonly schedules: string;
  /** Quoted: the table of what types with limits have used of them. */
  readonly limits: string;
  /** Another table of ours, quoted, by what stands behind the name of the job table. */
  beside(suffix: string): string;
  /** An index has no schema of its own: it lies with its table. */
  index(suffix: string): string;
}

/**
 * The job table that the option `tableName` means in this DataSource: its `entityPrefix` goes before the table, its `schema` counts where
 * the name has none.
 *
 * @throws InvalidOptionError
 */
export function tableNameIn({ options }: DataSource, tableName: string): TableName {
  const { schema, table } = splitTableName('tableName', tableName);
  if (schema !== undefined && options.type === 'better-sqlite3') {
    throw new InvalidOptionError(
      `tableName must be a table without a schema in SQLite, got ${show(tableName)}: leave out the part before the dot`,
    );
  }
  return {
    schema: schema ?? (options.type === 'postgres' ? options.schema : undefined),
    table: checkTable("tableName behind the DataSource's entityPrefix", `${options.entityPrefix ?? ''}${table}`),
  };
}

export function sqlNames(name: TableName, quote: '"' | '`'): SqlNames {
  const quoted = (part: string): string => `${quote}${part.replaceAll(quote, quote + quote)}${quote}`;
  const path = (table: string): string =>
    name.schema === undefined ? quoted(table) : `${quoted(name.schema)}.${quoted(table)}`;
  return {
    name,
    table: path(name.table),
    versions: path(versionTableOf(name.table)),
    slots: path(tableBeside(name.table, slotsSuffix)),
    statistics: path(tableBeside(name.table, statisticsSuffix)),
    batches: path(tableBeside(name.table, batchesSuffix)),
    schedules: path(tableBeside(name.table, schedulesSuffix)),
    limits: path(tableBeside(name.table, limitsSuffix)),
    beside: (suffix) => path(tableBeside(name.table, suffix)),
    index: (suffix) => quoted(indexNameOf(name.table, suffix)),
  };
}

export function versionTableOf(table: string): string {
  return `${table}_schema`;
}

/** Which throttles have let a job through, and until when they let no other one. */
export const slotsSuffix = 'slots';

/** What became of jobs, by type, minute and process. */
export const statisticsSuffix = 'statistics';
/** Which jobs belong together, and what follows them. */
export const batchesSuffix = 'batches';
/** Which schedules there are, and up to when their slots are decided about. */
export const schedulesSuffix = 'schedules';
/** Which jobs of the types with limits have started lately. */
export const limitsSuffix = 'limits';

export function tableBeside(table: string, suffix: string): string {
  return `${table}_${suffix}`;
}

export function indexNameOf(table: string, suffix: string): string {
  return `${table}_${suffix}`;
}
