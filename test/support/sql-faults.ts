import Database from 'better-sqlite3';
import mysql from 'mysql2';
import pg from 'pg';
import type { TestDatabase } from './databases.js';

/** Which statements fail, and how. */
export interface Fault {
  readonly statement: RegExp;
  /** Only those on a connection that has sent such a statement. Default: all. */
  readonly after?: RegExp;
  /** How many of them. */
  readonly times: number;
  /** `connection`: it breaks. `passing`: the database asks to try again (deadlock, busy). */
  readonly error: 'connection' | 'passing';
  /** Whether the statement takes effect all the same, so that only its answer is lost. Default false. */
  readonly isDone?: boolean;
}

type Method = (...parameters: unknown[]) => unknown;
type Prototype = Record<string, unknown>;

/** Stands between the drivers of this process and their databases; every test restores them. */
export class SqlFaults {
  /** How many statements have failed. */
  hits = 0;
  /** How many statements of those that are watched have been sent. */
  seen = 0;
  private readonly undo: (() => void)[] = [];

  constructor(private readonly database: TestDatabase) {}

  /** Counts these statements, which do not fail. */
  watch(statement: RegExp): void {
    const count = (text: string): boolean => {
      if (statement.test(text)) this.seen += 1;
      return false;
    };
    const fault: Fault = { statement, times: 0, error: 'passing' };
    if (this.database.isSqlite) this.failSqlite(count, fault);
    else this.failServer(count, fault);
  }

  fail(fault: Fault): void {
    let left = fault.times;
    const meant = new WeakSet<object>();
    const mustFail = (text: string, connection: unknown): boolean => {
      if (fault.after?.test(text) === true) meant.add(connection as object);
      if (left === 0 || !fault.statement.test(text)) return false;
      if (fault.after !== undefined && !meant.has(connection as object)) return false;
      left -= 1;
      this.hits += 1;
      return true;
    };
    if (this.database.isSqlite) this.failSqlite(mustFail, fault);
    else this.failServer(mustFail, fault);
  }

  restore(): void {
    for (const undo of this.undo.splice(0)) undo();
  }

  /** A callback, if there is one, is the last parameter. */
  private failServer(mustFail: (text: string, connection: unknown) => boolean, fault: Fault): void {
    const isPostgres = this.database.name === 'postgres';
    const prototype = (isPostgres ? pg.Client : mysqlConnection()).prototype as Prototype;
    const error = (): Error => (isPostgres ? postgresError(fault) : mysqlError(fault));
    for (const name of isPostgres ? ['query'] : ['query', 'execute']) {
      this.replace(prototype, name, (original, parameters, self) => {
        if (!mustFail(textOf(parameters[0]), self)) return original.apply(self, parameters);
        const callback = parameters.at(-1);
        if (!isCallback(callback)) {
          const answered = fault.isDone === true ? original.apply(self, parameters) : undefined;
          return Promise.resolve(answered).then(() => Promise.reject(error()));
        }
        if (fault.isDone !== true) return callback(error());
        return original.apply(self, [...parameters.slice(0, -1), () => callback(error())]);
      });
    }
  }

  private failSqlite(mustFail: (text: string, connection: unknown) => boolean, fault: Fault): void {
    const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Prototype;
    for (const name of ['run', 'all', 'get', 'iterate']) {
      this.replace(statement, name, (original, parameters, self) => {
        if (mustFail((self as { source: string }).source, self)) throw sqliteError(fault);
        return original.apply(self, parameters);
      });
    }
  }

  private replace(
    prototype: Prototype,
    name: string,
    act: (original: Method, parameters: unknown[], self: unknown) => unknown,
  ): void {
    const original = prototype[name] as Method;
    prototype[name] = function failing(this: unknown, ...parameters: unknown[]): unknown {
      return act(original, parameters, this);
    };
    this.undo.push(() => (prototype[name] = original));
  }
}

function isCallback(value: unknown): value is (error: Error) => void {
  return typeof value === 'function';
}

/** All connections of mysql2 have it in common. */
function mysqlConnection(): { readonly prototype: object } {
  return (mysql as unknown as { Connection: { readonly prototype: object } }).Connection;
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { sql, text } = query as { sql?: string; text?: string };
  return sql ?? text ?? '';
}

function postgresError({ error }: Fault): Error {
  return error === 'passing'
    ? Object.assign(new Error('deadlock detected'), { code: '40P01' })
    : new Error('Connection terminated unexpectedly');
}

function mysqlError({ error }: Fault): Error {
  return error === 'passing'
    ? Object.assign(new Error('Deadlock found'), { code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' })
    : Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true });
}

/** SQLite has no connection to lose: what the machine refuses stands for it. */
function sqliteError({ error }: Fault): Error {
  if (error === 'passing') return Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
  return Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
}
