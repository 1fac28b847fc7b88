import { createHash } from 'node:crypto';
import type { SchemaAccess, SchemaPlan } from '../migrations/ensure-schema.js';
import { suffixesBeside, type FoundSchema, type SchemaSql } from '../migrations/schema-plan.js';
import { toText, type Row } from '../job-row.js';
import { errorField } from '../retry.js';
import { tableBeside, versionTableOf, type SqlNames } from '../table-name.js';
import { execute, say, type MysqlConnection, type MysqlConnections, type MysqlValue } from './mysql-pool.js';
import { mysqlNowMs } from './mysql-statements.js';

/** An index on a large table takes its time, and so do those who wait for whoever makes it. */
const migrationMs = 600_000;
/** Access denied: to the database, to the table, to a column, for want of a privilege. */
const forbidden = [1044, 1142, 1143, 1227, 1370];

export const mysqlSchemaSql: SchemaSql = {
  family: 'mysql',
  tableOptions: 'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin',
  bigint: 'BIGINT',
  nowMs: mysqlNowMs,
};

export function mysqlSchemaAccess(connections: MysqlConnections): SchemaAccess {
  return {
    sql: mysqlSchemaSql,
    read: (names) => connections.use((connection) => readMysqlSchema(connection, names)),
    migrate: (names, plan) => connections.use((connection) => migrateMysqlWithin(connection, names, plan)),
    isForbidden: (error) => forbidden.includes(Number(errorField(error, 'errno'))),
  };
}

/** Definitions commit by themselves here, so the lock belongs to the connection and not to a transaction. */
export async function migrateMysqlWithin(
  connection: MysqlConnection,
  names: SqlNames,
  plan: SchemaPlan,
): Promise<void> {
  const { rows: databases } = await say(connection, 'SELECT DATABASE() AS name');
  const lock = lockName(names.name.schema ?? String(databases[0]?.['name']), names.name.table);
  const { rows } = await execute(
    connection,
    'SELECT GET_LOCK(?, ?) AS taken',
    [lock, migrationMs / 1000],
    migrationMs * 2,
  );
  if (Number(rows[0]?.['taken']) !== 1)
    throw new Error('another process changes the job table and does not come to an end');
  try {
    for (const statement of plan(await readMysqlSchema(connection, names)))
      await say(connection, statement, migrationMs);
  } finally {
    await release(connection, lock);
  }
}

/** A connection that broke has freed its locks already, and why it broke is being thrown. */
async function release(connection: MysqlConnection, lock: string): Promise<void> {
  try {
    await execute(connection, 'SELECT RELEASE_LOCK(?) AS freed', [lock]);
  } catch {
    // See above.
  }
}

export async function readMysqlSchema(connection: MysqlConnection, { name, versions }: SqlNames): Promise<FoundSchema> {
  const versionTable = versionTableOf(name.table);
  const names = (what: string, table: string): Promise<ReadonlySet<string>> =>
    namesOf(connection, what, [name.schema ?? null, table]);
  const hasTable = async (table: string): Promise<boolean> =>
    (await names('table_name AS name FROM information_schema.tables', table)).size > 0;
  const tables = new Set<string>();
  for (const suffix of suffixesBeside) if (await hasTable(tableBeside(name.table, suffix))) tables.add(suffix);
  const hasVersionTable = await hasTable(versionTable);
  const newest = hasVersionTable ? await newestRow(connection, versions) : undefined;
  return {
    columns: await names('column_name AS name FROM information_schema.columns', name.table),
    indexes: await names('index_name AS name FROM information_schema.statistics', name.table),
    tables,
    hasVersionTable,
    version: newest === undefined ? undefined : Number(newest['version']),
    compatibleWith: newest === undefined ? undefined : Number(newest['compatible_with']),
  };
}

async function newestRow(connection: MysqlConnection, versions: string): Promise<Row | undefined> {
  const text = `SELECT version, compatible_with FROM ${versions} ORDER BY version DESC LIMIT 1`;
  return (await say(connection, text)).rows[0];
}

async function namesOf(
  connection: MysqlConnection,
  what: string,
  schemaAndTable: readonly MysqlValue[],
): Promise<ReadonlySet<string>> {
  const text = `SELECT ${what} WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?`;
  const { rows } = await execute(connection, text, schemaAndTable);
  return new Set(rows.map((row) => toText(row['name'])));
}

/** Locks are named for the whole server, in at most 64 characters. */
function lockName(schema: string, table: string): string {
  return `nestjs-jobs ${createHash('sha256').update(`${schema}.${table}`).digest('hex').slice(0, 40)}`;
}
