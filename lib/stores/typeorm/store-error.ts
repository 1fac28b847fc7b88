import { JobsError, StoreError } from '../../model/errors.js';
import { errorField, sqlStateOf } from './retry.js';

/**
 * SQLSTATE classes whose messages speak of connections, rights, names and resources. All others may quote a value, and values
 * may be payloads.
 */
const harmlessClasses = ['08', '28', '3D', '3F', '40', '42', '53', '55', '57', '58'];

/**
 * SQLSTATE classes of a refusal for the sake of a value: data exceptions, constraints, program limits, and what triggers raise on MySQL and on
 * PostgreSQL. Of SQLite the beginnings of codes that say the same.
 */
const refusedValues = ['22', '23', '44', '45', '54', 'P0'];
const refusedValuesOfSqlite = ['SQLITE_CONSTRAINT', 'SQLITE_TOOBIG', 'SQLITE_MISMATCH'];
/** The same for a refusal of who asks, of a name, of a right that is missing. */
const refusedRequests = ['28', '3D', '3F', '42'];
const refusedRequestsOfSqlite = ['SQLITE_ERROR', 'SQLITE_READONLY'];

/**
 * Runs a verb of the store and dresses what the driver throws.
 *
 * @param what What was to be done, for the message: `claim and settle jobs`.
 * @throws StoreError with the driver's error as its cause; errors of this library pass unchanged.
 */
export async function inStore<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof JobsError) throw error;
    const dressed = new StoreError(`could not ${what}: ${describe(error)}${mendFor(error)}`, { cause: error });
    const refused = refusedBy(error);
    throw refused === undefined ? dressed : dressed.refusing(refused);
  }
}

function refusedBy(error: unknown): StoreError['refuses'] {
  const code = String(errorField(error, 'code') ?? '');
  const state = String(errorField(error, 'sqlState') ?? sqlStateOf(error) ?? '').slice(0, 2);
  const isOf = (states: readonly string[], codes: readonly string[]): boolean =>
    states.includes(state) || codes.some((beginning) => code.startsWith(beginning));
  if (isOf(refusedValues, refusedValuesOfSqlite)) return 'value';
  return isOf(refusedRequests, refusedRequestsOfSqlite) ? 'request' : undefined;
}

/** What to do where the tables are not there: as codes of PostgreSQL, MySQL and MariaDB, and a message of SQLite, say it. */
function mendFor(error: unknown): string {
  const code = String(errorField(error, 'code'));
  const message = String(errorField(error, 'message'));
  if (code === '42P01' || code === 'ER_NO_SUCH_TABLE' || message.startsWith('no such table')) {
    return "; with schema: 'auto' a restart makes the tables, else run the migrations that 'nestjs-jobs/typeorm' exports";
  }
  if (code === '3F000' || code === 'ER_BAD_DB_ERROR')
    return '; make the schema first, or name another one in tableName';
  return '';
}

/** Never a bound value: the code of the error, and its message where that kind of message holds none. */
function describe(error: unknown): string {
  const code = errorField(error, 'code') ?? 'no code';
  const state = errorField(error, 'sqlState') ?? sqlStateOf(error);
  const message = String(errorField(error, 'message') ?? '');
  const isHarmless = state === undefined || harmlessClasses.includes(String(state).slice(0, 2));
  return message === '' || !isHarmless ? String(code) : `${message.slice(0, 300)} (${code})`;
}
