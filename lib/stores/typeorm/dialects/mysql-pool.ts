import type { DataSource } from 'typeorm';
import { UnsupportedDatabaseError } from '../../../model/errors.js';
import { hasFunctions } from '../guard.js';
import type { Row } from '../job-row.js';
import { answerMs } from '../own-data-source.js';
import { errorField, retryPassing } from '../retry.js';

/** Values that the binary protocol carries without any quoting. */
export type MysqlValue = string | number | Buffer | null;

export interface MysqlResult {
  readonly rows: readonly Row[];
  /** Rows that a write found, changed or not. */
  readonly affected: number;
}

/** Thrown inside a transaction to undo it. */
export class UndoTransaction extends Error {}

/** For statements on a connection of the app's, whose patience is its own. */
export const noTimeout = 0;

type Callback = (error: unknown, result: unknown) => void;

interface Command {
  readonly sql: string;
  readonly values?: readonly MysqlValue[];
  /** Milliseconds without an answer after which the driver gives up. */
  readonly timeout: number;
}

/** A connection of mysql2, as far as the store uses it. */
export interface MysqlConnection {
  execute(command: Command, callback: Callback): unknown;
  query(command: Command, callback: Callback): unknown;
}

interface MysqlPoolConnection extends MysqlConnection {
  readonly stream: { ref(): void; unref(): void };
  on(event: 'error', listener: () => void): unknown;
  release(): void;
  destroy(): void;
}

interface MysqlPool {
  getConnection(callback: (error: unknown, connection: unknown) => void): void;
}

/**
 * What every connection of ours is, whatever the server's defaults are. READ COMMITTED takes no locks on gaps, over which claims and
 * inserts would deadlock. A strict mode never cuts a value. What a server may forbid to people who type, a write that no key leads to or a look
 * through many rows, claims need; a commit is to end the transaction and nothing else. A process that stands still in the middle of a transaction, or whose connection
 * has gone silent there, would keep its locks for hours; MariaDB, which alone reads that kind of comment, ends it.
 */
const sessionSettings = [
  'SET NAMES utf8mb4',
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION autocommit = 1, SESSION innodb_lock_wait_timeout = 10, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION completion_type = 'NO_CHAIN', SESSION sql_safe_updates = 0, SESSION sql_big_selects = 1, SESSION sql_select_limit = 18446744073709551615 /*M!100300 , SESSION idle_transaction_timeout = 15 */",
];

/** A deadlock, whose victim was rolled back whole, and a lock that was waited for too long. */
const deadlock = 1213;
const passing = [deadlock, 1205];

/** For transactions that give up when they have waited for a lock for too long. */
export function retryDeadlock<T>(work: () => Promise<T>): Promise<T> {
  return retryPassing(isDeadlock, work);
}

/** Over it the server has undone the whole transaction, and goes on as if there were none. */
export function isDeadlock(error: unknown): boolean {
  return Number(errorField(error, 'errno')) === deadlock;
}

/** For statements and transactions that are undone whole when they fail. */
export function retryMysql<T>(work: () => Promise<T>): Promise<T> {
  return retryPassing((error) => passing.includes(Number(errorField(error, 'errno'))), work);
}

/** The connections of a DataSource made for the store. An idle one does not keep the process alive. */
export class MysqlConnections {
  private readonly pool: MysqlPool;
  private readonly ready = new WeakSet<MysqlPoolConnection>();

  constructor(dataSource: DataSource) {
    const pool: unknown = Reflect.get(dataSource.driver, 'pool');
    if (!isPool(pool)) {
      throw new UnsupportedDatabaseError(
        `the DataSource of type '${dataSource.options.type}' has no pool of the mysql2 package; use mysql2 3`,
      );
    }
    this.pool = pool;
  }

  /**
   * Holds a connection while `run` works with it. A connection that broke or did not answer does not go back to the pool.
   *
   * @param others Stand in where none is to be had here.
   */
  async use<T>(run: (connection: MysqlConnection) => Promise<T>, others?: MysqlConnections): Promise<T> {
    let connection: MysqlPoolConnection;
    try {
      connection = await this.take();
    } catch (error) {
      if (others === undefined) throw error;
      return others.use(run);
    }
    try {
      const result = await run(connection);
      this.giveBack(connection);
      return result;
    } catch (error) {
      if (isRefusal(error)) this.giveBack(connection);
      else connection.destroy();
      throw error;
    }
  }

  /** All statements of `run` or none. */
  async transaction<T>(run: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    const connection = await this.take();
    try {
      await say(connection, 'START TRANSACTION');
      const result = await run(connection);
      await say(connection, 'COMMIT');
      this.giveBack(connection);
      return result;
    } catch (error) {
      if (isRefusal(error) && (await isRolledBack(connection))) this.giveBack(connection);
      else connection.destroy();
      throw error;
    }
  }

  private async take(): Promise<MysqlPoolConnection> {
    const connection = await new Promise<MysqlPoolConnection>((resolve, reject) => {
      this.pool.getConnection((error, taken) => (isPoolConnection(taken) ? resolve(taken) : reject(asError(error))));
    });
    connection.stream.ref();
    if (this.ready.has(connection)) return connection;
    // The statement under way hears of it too; unheard it would end the process.
    connection.on('error', () => {});
    try {
      for (const setting of sessionSettings) await say(connection, setting);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    this.ready.add(connection);
    return connection;
  }

  private giveBack(connection: MysqlPoolConnection): void {
    connection.stream.unref();
    connection.release();
  }
}

/** A prepared statement, prepared once for each connection and text: the texts must be few. */
export function execute(
  connection: MysqlConnection,
  sql: string,
  values: readonly MysqlValue[],
  timeout = answerMs,
): Promise<MysqlResult> {
  return answerTo((answered) => connection.execute({ sql, values, timeout }, answered));
}

/** A statement without values. */
export function say(connection: MysqlConnection, sql: string, timeout = answerMs): Promise<MysqlResult> {
  return answerTo((answered) => connection.query({ sql, timeout }, answered));
}

/** @param send Sends a command; returns what mysql2 makes of it. */
function answerTo(send: (answered: Callback) => unknown): Promise<MysqlResult> {
  return new Promise((resolve, reject) => {
    // The answer may come before there is a command.
    const sent: { command?: unknown } = {};
    sent.command = send((error, result) => {
      if (error !== null && error !== undefined) {
        forgetTimer(sent.command);
        reject(asError(error));
      } else if (Array.isArray(result)) resolve({ rows: result, affected: result.length });
      else resolve({ rows: [], affected: Number(errorField(result, 'affectedRows') ?? 0) });
    });
  });
}

/** A command whose connection broke leaves its time-out behind, which would hold up the end of the process. */
function forgetTimer(command: unknown): void {
  const timer: unknown = Reflect.get(Object(command), 'queryTimeout');
  if (typeof timer === 'object' && timer !== null) clearTimeout(timer as NodeJS.Timeout);
}

async function isRolledBack(connection: MysqlConnection): Promise<boolean> {
  try {
    await say(connection, 'ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** What a server says that was the master and is none any more: only a new connection can find the new one. */
const readOnly = [1290, 1792, 1836];

/** The server, or we, said no and the connection is as good as before; anything else leaves it in an unknown state. */
function isRefusal(error: unknown): boolean {
  if (error instanceof UndoTransaction) return true;
  if (readOnly.includes(Number(errorField(error, 'errno')))) return false;
  return errorField(error, 'sqlState') !== undefined && Reflect.get(Object(error), 'fatal') !== true;
}

/** Tells the connection that a query runner hands out from anything else. */
export function isMysqlConnection(value: unknown): value is MysqlConnection {
  return hasFunctions(value, ['execute', 'query']);
}

function isPoolConnection(value: unknown): value is MysqlPoolConnection {
  return hasFunctions(value, ['execute', 'query', 'on', 'release', 'destroy']) && 'stream' in Object(value);
}

function isPool(value: unknown): value is MysqlPool {
  return hasFunctions(value, ['getConnection']);
}

function asError(error: unknown): Error {
  const isError = typeof error === 'object' && error !== null && 'message' in error;
  return isError ? (error as Error) : new Error('mysql2 gave no connection');
}
