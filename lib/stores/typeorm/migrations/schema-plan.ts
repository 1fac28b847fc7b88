import { SchemaError } from '../../../model/errors.js';
import { indexNameOf, tableBeside, type SqlNames } from '../table-name.js';
import { createJobs } from './0001-create-jobs.js';
import type { ColumnDefinition, IndexDefinition, Migration, SqlFamily, TableDefinition } from './migration.js';

/** All versions, oldest first. */
const migrations: readonly Migration[] = [createJobs];
export const newestVersion = migrations.length;
/** What stands behind the name of the job table in the names of those beside it. */
export const suffixesBeside: readonly string[] = migrations.flatMap(({ tables }) => tables).map(({ suffix }) => suffix);

/** What a database has of our tables. */
export interface FoundSchema {
  /** Empty where the job table is missing. */
  readonly columns: ReadonlySet<string>;
  readonly indexes: ReadonlySet<string>;
  /** Those of `suffixesBeside` whose tables are there. */
  readonly tables: ReadonlySet<string>;
  /** Our tables in which this role may not do all that the queue does. Only PostgreSQL is asked. */
  readonly barred?: readonly string[];
  readonly hasVersionTable: boolean;
  /** The newest version that was recorded. */
  readonly version: number | undefined;
  /** The oldest version whose code works with it. */
  readonly compatibleWith: number | undefined;
}

/** The words in which a family of databases defines tables. */
export interface SchemaSql {
  readonly family: SqlFamily;
  /** What stands behind the columns of a new table. */
  readonly tableOptions: string;
  readonly bigint: string;
  /** An expression for epoch milliseconds. */
  readonly nowMs: string;
}

interface Gaps {
  readonly columns: readonly ColumnDefinition[];
  readonly indexes: readonly IndexDefinition[];
  readonly tables: readonly TableDefinition[];
  readonly versions: readonly Migration[];
}

/** Whether this code can work with the table as it is. */
export function isUsable(found: FoundSchema, names: SqlNames, family: SqlFamily): boolean {
  if (isNewer(found)) return (found.compatibleWith ?? Infinity) <= newestVersion;
  const { columns, indexes, tables, versions } = findGaps(found, names, family);
  return columns.length + indexes.length + tables.length + versions.length === 0;
}

/** A table of a later version is left as it is: this code does not know what belongs to it. */
export function isNewer(found: FoundSchema): boolean {
  return (found.version ?? 0) > newestVersion;
}

/** What is missing, in words. */
export function describeGaps(found: FoundSchema, names: SqlNames, family: SqlFamily): string {
  if (found.columns.size === 0) return 'the table does not exist';
  const { columns, indexes, tables } = findGaps(found, names, family);
  const missing = [
    ...columns.map(({ name }) => `column ${name}`),
    ...indexes.map(({ suffix }) => `index ${indexNameOf(names.name.table, suffix)}`),
    ...tables.map(({ suffix }) => `table ${tableBeside(names.name.table, suffix)}`),
  ];
  const version = `found ${found.version === undefined ? 'no version' : `version ${found.version}`}, expected version ${newestVersion}`;
  return missing.length === 0 ? version : `${version}; missing: ${missing.join(', ')}`;
}

/**
 * The statements that make the table what this code expects, none where it is that already. What exists is never changed.
 *
 * @throws SchemaError when there is a table of this name that is not ours.
 */
export function planSchema(found: FoundSchema, names: SqlNames, sql: SchemaSql): readonly string[] {
  const { columns, indexes, tables, versions } = findGaps(found, names, sql.family);
  return [
    ...planColumns(found, columns, names, sql),
    ...indexes.map((index) => createIndex(index, names, sql)),
    ...tables.flatMap((table) => createTable(table, names, sql)),
    ...(found.hasVersionTable ? [] : [createVersionTable(names, sql)]),
    ...versions.map(
      ({ version, compatibleWith }) =>
        `INSERT INTO ${names.versions} (version, compatible_with, applied_at) VALUES (${version}, ${compatibleWith}, ${sql.nowMs})`,
    ),
  ];
}

function planColumns(
  found: FoundSchema,
  missing: readonly ColumnDefinition[],
  names: SqlNames,
  { family, tableOptions }: SchemaSql,
): readonly string[] {
  const defined = missing.map(({ name, definition }) => `${name} ${definition[family]}`);
  if (found.columns.size === 0) {
    return [`CREATE TABLE IF NOT EXISTS ${names.table} (\n  ${defined.join(',\n  ')}\n) ${tableOptions}`.trimEnd()];
  }
  const isForeign = found.version === undefined && missing.length > 0;
  if (isForeign || missing.some(({ isAddable }) => !isAddable)) {
    throw new SchemaError(
      `there is a table ${names.table} that is no job table of this library (it has no ` +
        `${missing.map(({ name }) => name).join(', ')}): rename it, or set the option tableName to another name`,
    );
  }
  return defined.map((definition) => `ALTER TABLE ${names.table} ADD COLUMN ${definition}`);
}

function createIndex(
  { suffix, definition, isUnique }: IndexDefinition,
  names: SqlNames,
  { family }: SchemaSql,
): string {
  const kind = isUnique === true ? 'UNIQUE INDEX' : 'INDEX';
  return `CREATE ${kind} ${names.index(suffix)} ON ${names.table} ${definition[family]}`;
}

function createTable(
  { suffix, definition, indexed }: TableDefinition,
  names: SqlNames,
  sql: SchemaSql,
): readonly string[] {
  const table = names.beside(suffix);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (${definition[sql.family]}) ${sql.tableOptions}`.trimEnd(),
    ...Object.entries(indexed).map(
      ([name, columns]) => `CREATE INDEX ${names.index(`${suffix}_${name}`)} ON ${table} (${columns})`,
    ),
  ];
}

function createVersionTable(names: SqlNames, { bigint, tableOptions }: SchemaSql): string {
  const columns = `version ${bigint} NOT NULL PRIMARY KEY, compatible_with ${bigint} NOT NULL, applied_at ${bigint} NOT NULL`;
  return `CREATE TABLE IF NOT EXISTS ${names.versions} (${columns}) ${tableOptions}`.trimEnd();
}

function findGaps(found: FoundSchema, names: SqlNames, family: SqlFamily): Gaps {
  const hasIndex = ({ suffix }: IndexDefinition): boolean => found.indexes.has(indexNameOf(names.name.table, suffix));
  const indexes = migrations.flatMap((migration) => migration.indexes);
  return {
    columns: migrations
      .flatMap((migration) => migration.columns)
      .filter(({ name, definition }) => definition[family] !== undefined && !found.columns.has(name)),
    indexes: indexes.filter((index) => index.definition[family] !== undefined && !hasIndex(index)),
    tables: migrations.flatMap((migration) => migration.tables).filter(({ suffix }) => !found.tables.has(suffix)),
    versions: migrations.filter(({ version }) => version > (found.version ?? 0)),
  };
}
