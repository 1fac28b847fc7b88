import { SchemaError } from '../../../model/errors.js';
import type { SqlNames } from '../table-name.js';
import {
  describeGaps,
  isNewer,
  isUsable,
  newestVersion,
  planSchema,
  type FoundSchema,
  type SchemaSql,
} from './schema-plan.js';

/** Who sees to the job table: `auto` makes it, `check` only looks at it, `none` does not even look. */
export type SchemaMode = 'auto' | 'check' | 'none';

/** From what is there to the statements that make the rest. */
export type SchemaPlan = (found: FoundSchema) => readonly string[];

/** One database's way to look at our tables and to change them. */
export interface SchemaAccess {
  readonly sql: SchemaSql;
  read(names: SqlNames): Promise<FoundSchema>;
  /** Under a lock that all processes share: reads once more, and runs what the plan makes of it. */
  migrate(names: SqlNames, plan: SchemaPlan): Promise<void>;
  /** Whether the database refused for want of rights. */
  isForbidden(error: unknown): boolean;
}

/**
 * Sees to it that the job table is there, of a version that this code can work with, and open to this role. Where all is well it only reads, without any
 * lock.
 *
 * @throws SchemaError
 */
export async function ensureSchema(mode: SchemaMode, access: SchemaAccess, names: SqlNames): Promise<void> {
  if (mode === 'none') return;
  const found = await read(access, names);
  if (isUsable(found, names, access.sql.family)) return mustBeOpen(found);
  if (isNewer(found)) throw tooNew(found, names);
  if (mode === 'check') throw notReady(found, names, access);
  try {
    await access.migrate(names, planFor(names, access.sql));
  } catch (error) {
    throw access.isForbidden(error) ? forbidden(error, names, access.sql.family) : error;
  }
}

async function read(access: SchemaAccess, names: SqlNames): Promise<FoundSchema> {
  try {
    return await access.read(names);
  } catch (error) {
    throw access.isForbidden(error) ? unreadable(error, names) : error;
  }
}

/** What a migration does: whichever of several processes, or the runtime, comes first, the others find nothing left to do. */
export function planFor(names: SqlNames, sql: SchemaSql): SchemaPlan {
  return (found) => {
    if (!isNewer(found)) return planSchema(found, names, sql);
    if (isUsable(found, names, sql.family)) return [];
    throw tooNew(found, names);
  };
}

function tooNew(found: FoundSchema, names: SqlNames): SchemaError {
  return new SchemaError(
    `the job table ${names.table} has version ${found.version}, which needs a release of nestjs-jobs that knows version ` +
      `${found.compatibleWith} (this one knows up to ${newestVersion}): upgrade nestjs-jobs`,
  );
}

function notReady(found: FoundSchema, names: SqlNames, { sql }: SchemaAccess): SchemaError {
  return new SchemaError(
    `the job table ${names.table} is not ready (${describeGaps(found, names, sql.family)}): run the migrations that ` +
      "'nestjs-jobs/typeorm' exports, or set schema: 'auto'",
  );
}

/** Otherwise the first job that needs such a table finds out, and with it whoever waits for that job. */
function mustBeOpen({ barred = [] }: FoundSchema): void {
  if (barred.length === 0) return;
  const tables = barred.join(', ');
  throw new SchemaError(
    `this database role may not read and write all tables of the queue: GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables} to it`,
  );
}

function unreadable(cause: unknown, names: SqlNames): SchemaError {
  return new SchemaError(
    `this database role may not read ${names.versions}, where the version of the job table ${names.table} is kept: ` +
      `GRANT SELECT ON ${names.versions} to it, and what else docs/databases.md names`,
    { cause },
  );
}

function forbidden(cause: unknown, names: SqlNames, family: SchemaSql['family']): SchemaError {
  if (family === 'sqlite') {
    return new SchemaError(
      `the SQLite database is read-only, so the job table ${names.table} can be neither made nor written: let this process write ` +
        'to the file and to its folder',
      { cause },
    );
  }
  return new SchemaError(
    `this database role may not create or change the job table ${names.table}: run the migrations that ` +
      "'nestjs-jobs/typeorm' exports with a role that may, then set schema: 'check' (or 'none') here",
    { cause },
  );
}
