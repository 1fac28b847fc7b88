import type { SchemaAccess, SchemaPlan } from '../migrations/ensure-schema.js';
import { suffixesBeside, type FoundSchema, type SchemaSql } from '../migrations/schema-plan.js';
import { toText, type Row } from '../job-row.js';
import { errorField } from '../retry.js';
import { tableBeside, versionTableOf, type SqlNames } from '../table-name.js';
import type { SqliteGate } from './sqlite-gate.js';
import { inSqliteTransaction, type SqliteHandle } from './sqlite-handle.js';

export const sqliteSchemaSql: SchemaSql = {
  family: 'sqlite',
  tableOptions: '',
  bigint: 'INTEGER',
  nowMs: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
};

export function sqliteSchemaAccess(gate: SqliteGate): SchemaAccess {
  return {
    sql: sqliteSchemaSql,
    read: (names) => gate.run((handle) => readSqliteSchema(handle, names)),
    migrate: (names, plan) =>
      gate.run((handle) => inSqliteTransaction(handle, () => migrateSqliteWithin(handle, names, plan))),
    isForbidden: (error) => String(errorField(error, 'code')).startsWith('SQLITE_READONLY'),
  };
}

/** Works in the transaction that is open on the connection, whose lock keeps others away. */
export function migrateSqliteWithin(handle: SqliteHandle, names: SqlNames, plan: SchemaPlan): void {
  for (const statement of plan(readSqliteSchema(handle, names))) handle.exec(statement);
}

export function readSqliteSchema(handle: SqliteHandle, { name, versions }: SqlNames): FoundSchema {
  const { table } = name;
  const read = (text: string, value: string): readonly Row[] => handle.prepare(text).all(value);
  const hasTable = (other: string): boolean =>
    read("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?", other).length > 0;
  const hasVersionTable = hasTable(versionTableOf(table));
  const newest = hasVersionTable
    ? handle.prepare(`SELECT version, compatible_with FROM ${versions} ORDER BY version DESC LIMIT 1`).get()
    : undefined;
  return {
    columns: namesOf(read('SELECT name FROM pragma_table_info(?)', table)),
    indexes: namesOf(read('SELECT name FROM pragma_index_list(?)', table)),
    tables: new Set(suffixesBeside.filter((suffix) => hasTable(tableBeside(table, suffix)))),
    hasVersionTable,
    version: newest === undefined ? undefined : Number(newest['version']),
    compatibleWith: newest === undefined ? undefined : Number(newest['compatible_with']),
  };
}

function namesOf(rows: readonly Row[]): ReadonlySet<string> {
  return new Set(rows.map((row) => toText(row['name'])));
}
