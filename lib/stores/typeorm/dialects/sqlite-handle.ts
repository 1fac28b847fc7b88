import type { DataSource } from 'typeorm';
import { UnsupportedDatabaseError } from '../../../model/errors.js';
import { hasFunctions } from '../guard.js';
import type { Row } from '../job-row.js';
import { errorField } from '../retry.js';

const savepoint = 'nestjs_jobs_insert';

export type SqliteValue = string | number | null;

/** A prepared statement of better-sqlite3. All of it is synchronous. */
export interface SqliteStatement {
  run(...values: readonly SqliteValue[]): { readonly changes: number };
  get(...values: readonly SqliteValue[]): Row | undefined;
  all(...values: readonly SqliteValue[]): readonly Row[];
  /** Nothing can be written on the connection before the iterator has ended. */
  iterate(...values: readonly SqliteValue[]): IterableIterator<Row>;
  /** Makes it answer with values alone, in the order of its columns. */
  raw(): SqliteValuesStatement;
}

export interface SqliteValuesStatement {
  all(...values: readonly SqliteValue[]): readonly (readonly unknown[])[];
  /** As of `SqliteStatement`. */
  iterate(...values: readonly SqliteValue[]): IterableIterator<readonly unknown[]>;
}

/** The app's connection, as better-sqlite3 knows it. */
export interface SqliteHandle {
  readonly open: boolean;
  readonly memory: boolean;
  /** Whether a transaction is open on it, whoever began it. */
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
}

interface SqliteConnection extends Omit<SqliteHandle, 'prepare'> {
  prepare(sql: string): { safeIntegers(isOn: false): SqliteStatement };
}

/** The connection with statements that answer with numbers, also where the app has set it to answer with BigInts. */
class NumericHandle implements SqliteHandle {
  constructor(private readonly connection: SqliteConnection) {}

  get open(): boolean {
    return this.connection.open;
  }

  get memory(): boolean {
    return this.connection.memory;
  }

  get inTransaction(): boolean {
    return this.connection.inTransaction;
  }

  prepare(sql: string): SqliteStatement {
    return this.connection.prepare(sql).safeIntegers(false);
  }

  exec(sql: string): unknown {
    return this.connection.exec(sql);
  }
}

const handles = new WeakMap<object, SqliteHandle>();

/** The one connection behind a DataSource. It is another one after the DataSource was initialized anew. */
export function sqliteHandle(dataSource: DataSource): SqliteHandle {
  const connection: unknown = Reflect.get(dataSource.driver, 'databaseConnection');
  if (isConnection(connection)) {
    const handle = handles.get(connection) ?? new NumericHandle(connection);
    handles.set(connection, handle);
    return handle;
  }
  throw new UnsupportedDatabaseError("the DataSource of type 'better-sqlite3' has no connection of that package");
}

function isConnection(value: unknown): value is SqliteConnection {
  return hasFunctions(value, ['prepare', 'exec']);
}

/** Another connection, of this process or another, holds the lock; asking again may help. */
export function isBusy(error: unknown): boolean {
  const code = String(errorField(error, 'code'));
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

/** Somebody reads row by row on this connection, during which better-sqlite3 refuses to write. */
export function isIterating(error: unknown): boolean {
  return String(errorField(error, 'message')).includes('busy executing a query');
}

/**
 * Runs a block in a transaction of its own: all of it or nothing, and synchronously, so that nobody else on this connection gets
 * between its statements. To be called only when no transaction is open.
 */
export function inSqliteTransaction<T>(handle: SqliteHandle, block: () => T): T {
  try {
    handle.exec('BEGIN IMMEDIATE');
    const result = block();
    handle.exec('COMMIT');
    return result;
  } catch (error) {
    if (handle.inTransaction) handle.exec('ROLLBACK');
    throw error;
  }
}

/** Runs a block in the transaction that is open: all of it or nothing. Where SQLite has undone the whole transaction there is no savepoint left, and nothing to undo. */
export function allOrNone<T>(handle: SqliteHandle, block: () => T): T {
  handle.exec(`SAVEPOINT ${savepoint}`);
  try {
    return block();
  } catch (error) {
    if (handle.inTransaction) handle.exec(`ROLLBACK TO ${savepoint}`);
    throw error;
  } finally {
    if (handle.inTransaction) handle.exec(`RELEASE ${savepoint}`);
  }
}

/**
 * Runs a block during which SQLite itself waits for locks no longer than so many milliseconds: it does so synchronously, and the whole
 * process stands still. Without WAL reading needs a lock too.
 */
export function withBusyTimeout<T>(handle: SqliteHandle, ms: number, block: () => T): T {
  const appTimeout = readBusyTimeout(handle);
  handle.exec(`PRAGMA busy_timeout = ${ms}`);
  try {
    return block();
  } finally {
    handle.exec(`PRAGMA busy_timeout = ${appTimeout}`);
  }
}

function readBusyTimeout(handle: SqliteHandle): number {
  return Number(handle.prepare('PRAGMA busy_timeout').get()?.['timeout'] ?? 0);
}
