import type { DataSource, QueryRunner } from 'typeorm';
import { UnsupportedDatabaseError } from '../../../model/errors.js';
import { hasFunctions } from '../guard.js';
import type { Row } from '../job-row.js';
import { guardOf } from '../rollbacks.js';
import type { PgStatement } from './postgres-values.js';

export interface PgResult {
  readonly rows: readonly Row[];
  readonly rowCount: number | null;
}

export interface PgQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Under which the server keeps it for this connection. */
  readonly name?: string;
  /** Milliseconds without an answer after which the client gives up. */
  readonly query_timeout?: number;
}

export interface PgQueryable {
  query(text: string, values?: readonly unknown[]): Promise<PgResult>;
  query(query: PgQuery): Promise<PgResult>;
}

/** A client of `pg`, as far as the store uses it. */
export interface PgClient extends PgQueryable {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: 'error' | 'end' | 'notification', listener: (event: unknown) => void): unknown;
}

export interface PgPoolClient extends PgClient {
  release(error?: Error | boolean): void;
}

/** The pool of `pg` inside a TypeORM DataSource. */
export interface PgPool extends PgQueryable {
  readonly options: object;
  readonly Client: new (options: object) => PgClient;
  connect(): Promise<PgPoolClient>;
}

/** The pool behind a DataSource; its statements go past the ORM, which costs more than they do. */
export function postgresPool(dataSource: DataSource): PgPool {
  const pool: unknown = Reflect.get(dataSource.driver, 'master');
  if (isPool(pool)) return pool;
  throw new UnsupportedDatabaseError(
    "the DataSource of type 'postgres' has no pool of the pg package; use pg 8 without a replacement driver",
  );
}

/** The default may be another isolation, in which what others did while this waits for a lock is never seen. */
const plainBegin = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** Runs statements on one connection, all of them or none. */
export async function inPgTransaction<T>(
  pool: PgPool,
  run: (client: PgQueryable) => Promise<T>,
  begin = plainBegin,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await run(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // Closing the connection ends the transaction, whatever state it is in.
    client.release(true);
    throw error;
  }
}

/**
 * Says something on a connection of the first pool, or of the second where the first has none and gets none: a server that is full, or whose
 * name cannot be looked up, refuses new connections and goes on serving those that are open.
 *
 * @param first May have to be opened.
 * @param say What differs between the two, such as the name of a statement, it sees by the pool.
 */
export async function onEither(
  first: () => PgPool | Promise<PgPool>,
  second: () => PgPool,
  query: (isFirst: boolean) => PgQuery,
): Promise<PgResult> {
  let pool: PgPool | undefined;
  let client: PgPoolClient;
  try {
    pool = await first();
    client = await pool.connect();
  } catch (error) {
    if (pool === second()) throw error;
    return second().query(query(false));
  }
  try {
    const result = await client.query(query(true));
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Tells the connection that a query runner hands out from anything else. */
export function isQueryable(value: unknown): value is PgQueryable {
  return hasFunctions(value, ['query']);
}

/** @throws TypeError when it is no connection of pg. */
export async function clientOf(runner: QueryRunner): Promise<PgQueryable> {
  const client: unknown = await runner.connect();
  if (isQueryable(client)) return client;
  throw new TypeError('the query runner of the manager has no connection of the pg package');
}

/** The connection of a transaction of the app's; it refuses everything from the moment at which that is being rolled back. */
export async function joinedClient(runner: QueryRunner): Promise<PgQueryable> {
  const check = guardOf(runner);
  const client = await clientOf(runner);
  return {
    async query(query: string | PgQuery, values?: readonly unknown[]) {
      check();
      return typeof query === 'string' ? client.query(query, values) : client.query(query);
    },
  };
}

export function say(client: PgQueryable, { text, values }: PgStatement): Promise<PgResult> {
  return client.query(text, values);
}

function isPool(value: unknown): value is PgPool {
  return hasFunctions(value, ['query', 'connect', 'Client']);
}
