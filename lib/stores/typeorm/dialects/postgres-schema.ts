import { createHash } from 'node:crypto';
import type { SchemaAccess, SchemaPlan } from '../migrations/ensure-schema.js';
import { suffixesBeside, type FoundSchema, type SchemaSql } from '../migrations/schema-plan.js';
import { toText, type Row } from '../job-row.js';
import { errorField, retryPassing } from '../retry.js';
import type { SqlNames } from '../table-name.js';
import { inPgTransaction, type PgPool, type PgQueryable, type PgResult } from './postgres-pool.js';
import { pgNowMs } from './postgres-values.js';

/** An index on a large table takes its time, and so do those who wait for whoever makes it. */
const migrationMs = 600_000;
/** While a change waits for the table, everybody else waits behind it: better to step back and come again. */
const lockTimeout = '5s';
const insufficientPrivilege = '42501';
const lockNotAvailable = '55P03';
const passing = ['40001', '40P01', lockNotAvailable];

export const postgresSchemaSql: SchemaSql = {
  family: 'postgres',
  tableOptions: '',
  bigint: 'bigint',
  nowMs: pgNowMs,
};

export function postgresSchemaAccess(pool: PgPool): SchemaAccess {
  return {
    sql: postgresSchemaSql,
    read: (names) => readPostgresSchema(pool, names),
    migrate: (names, plan) =>
      retryPassing(
        (error) => passing.includes(String(errorField(error, 'code'))),
        () => inPgTransaction(pool, (client) => migratePostgresWithin(client, names, plan)),
      ),
    isForbidden: (error) => errorField(error, 'code') === insufficientPrivilege,
  };
}

/**
 * Works in the transaction that is open on the client; the lock goes with it, which poolers understand too. The transaction may
 * be one of the app's, with more to do, so it gets its own patience back.
 */
export async function migratePostgresWithin(client: PgQueryable, names: SqlNames, plan: SchemaPlan): Promise<void> {
  const run = (text: string, values: readonly unknown[] = []): Promise<PgResult> =>
    client.query({ text, values, query_timeout: migrationMs });
  const setLockTimeout = (value: unknown): Promise<PgResult> =>
    run("SELECT set_config('lock_timeout', $1, true)", [value]);
  await run('SELECT pg_advisory_xact_lock($1::bigint)', [lockKey(names)]);
  const { rows } = await run("SELECT current_setting('lock_timeout') AS value");
  await setLockTimeout(lockTimeout);
  for (const statement of plan(await readPostgresSchema(client, names))) await run(statement);
  await setLockTimeout(rows[0]?.['value']);
}

/** The schema in which the table was found, so that another search path can not lead elsewhere. */
export async function findPostgresSchema(client: PgQueryable, names: SqlNames): Promise<string | undefined> {
  const { rows } = await client.query(
    `SELECT n.nspname
     FROM pg_catalog.pg_class AS c
     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.oid = pg_catalog.to_regclass($1)`,
    [names.table],
  );
  return rows[0] === undefined ? undefined : toText(rows[0]['nspname']);
}

export async function readPostgresSchema(client: PgQueryable, names: SqlNames): Promise<FoundSchema> {
  const { rows } = await client.query(
    `SELECT 'column' AS kind, a.attname::text AS name
     FROM pg_catalog.pg_attribute AS a
     WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL
     SELECT 'index', c.relname::text
     FROM pg_catalog.pg_index AS i
     JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
     WHERE i.indrelid = pg_catalog.to_regclass($1) AND i.indisvalid
     UNION ALL
     SELECT 'versions', c.relname::text
     FROM pg_catalog.pg_class AS c
     WHERE c.oid = pg_catalog.to_regclass($2)
     UNION ALL
     SELECT 'beside', t.suffix
     FROM unnest($3::text[], $4::text[]) AS t(path, suffix)
     WHERE pg_catalog.to_regclass(t.path) IS NOT NULL
     UNION ALL
     SELECT 'barred', t.path
     FROM unnest($3::text[] || $1::text) AS t(path)
     CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(privilege)
     WHERE NOT pg_catalog.has_table_privilege(pg_catalog.to_regclass(t.path), p.privilege)`,
    [names.table, names.versions, suffixesBeside.map((suffix) => names.beside(suffix)), suffixesBeside],
  );
  const hasVersionTable = namesOf(rows, 'versions').size > 0;
  const newest = hasVersionTable ? await newestRow(client, names) : undefined;
  return {
    columns: namesOf(rows, 'column'),
    indexes: namesOf(rows, 'index'),
    tables: namesOf(rows, 'beside'),
    barred: [...namesOf(rows, 'barred')],
    hasVersionTable,
    version: newest === undefined ? undefined : Number(newest['version']),
    compatibleWith: newest === undefined ? undefined : Number(newest['compatible_with']),
  };
}

async function newestRow(client: PgQueryable, names: SqlNames): Promise<Row | undefined> {
  const { rows } = await client.query(
    `SELECT version, compatible_with FROM ${names.versions} ORDER BY version DESC LIMIT 1`,
  );
  return rows[0];
}

function namesOf(rows: readonly Row[], kind: string): ReadonlySet<string> {
  return new Set(rows.filter((row) => row['kind'] === kind).map((row) => toText(row['name'])));
}

/** Any 64 bits that all processes make of the same table. */
function lockKey(names: SqlNames): string {
  return createHash('sha256').update(`nestjs-jobs ${names.table}`).digest().readBigInt64BE().toString();
}
