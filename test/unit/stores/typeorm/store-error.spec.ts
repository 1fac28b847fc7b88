import { SchemaError, StoreError } from '../../../../lib/model/errors.js';
import { inStore } from '../../../../lib/stores/typeorm/store-error.js';

async function thrown(error: Error): Promise<unknown> {
  const fail = async (): Promise<never> => {
    throw error;
  };
  return inStore('do it', fail).catch((caught: unknown) => caught);
}

function driverError(message: string, fields: object): Error {
  return Object.assign(new Error(message), fields);
}

describe('inStore', () => {
  it('passes on what was returned', async () => {
    expect(await inStore('do it', async () => 7)).toBe(7);
  });

  it("wraps the driver's error and keeps it as the cause", async () => {
    const cause = driverError('connect refused', { code: 'ECONNREFUSED' });

    const error = await thrown(cause);

    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ message: 'could not do it: connect refused (ECONNREFUSED)', cause });
  });

  it.each([
    ['PostgreSQL', driverError('relation "jobs" does not exist', { code: '42P01' }), "schema: 'auto'"],
    ['MySQL', driverError('no table', { code: 'ER_NO_SUCH_TABLE', sqlState: '42S02' }), "schema: 'auto'"],
    ['SQLite', driverError('no such table: jobs', { code: 'SQLITE_ERROR' }), "schema: 'auto'"],
    ['PostgreSQL', driverError('schema "a" does not exist', { code: '3F000' }), 'make the schema first'],
    [
      'MySQL',
      driverError("Unknown database 'a'", { code: 'ER_BAD_DB_ERROR', sqlState: '42000' }),
      'make the schema first',
    ],
  ])('says what to do about what is not there: %s, %s', async (_database, cause, mend) => {
    expect(await thrown(cause)).toMatchObject({ message: expect.stringContaining(mend) });
  });

  it('leaves errors of this library as they are', async () => {
    const error = new SchemaError('no table');

    expect(await thrown(error)).toBe(error);
  });

  it.each([
    ['a PostgreSQL value', driverError("invalid input syntax: 'secret'", { code: '22P02' })],
    ['a PostgreSQL key', driverError('duplicate key (secret)', { code: '23505' })],
    ['a MySQL value', driverError("Incorrect string value 'secret'", { code: 'ER_X', sqlState: '22007' })],
    ['a MySQL key', driverError("Duplicate entry 'secret'", { code: 'ER_DUP_ENTRY', sqlState: '23000' })],
    ['any other MySQL message', driverError('secret', { code: 'ER_Y', sqlState: 'HY000' })],
  ])('shows no message that may quote %s', async (_what, cause) => {
    const error = await thrown(cause);

    expect(String(error)).not.toContain('secret');
    expect(String(error)).toContain(String(Reflect.get(cause, 'code')));
  });

  it.each([
    driverError('relation "x" does not exist', { code: '42P01' }),
    driverError('terminating connection', { code: '57P01' }),
    driverError("Table 'x' doesn't exist", { code: 'ER_NO_SUCH_TABLE', sqlState: '42S02' }),
    driverError('write EPIPE', { code: 'EPIPE' }),
    driverError('database is locked', { code: 'SQLITE_BUSY' }),
  ])('shows the message of %s', async (cause) => {
    expect(String(await thrown(cause))).toContain(cause.message);
  });

  it.each([
    ['request', 'a right that is missing, on PostgreSQL', { code: '42501' }],
    ['request', 'a table that is missing, on PostgreSQL', { code: '42P01' }],
    ['request', 'a right that is missing, on MySQL', { code: 'ER_TABLEACCESS_DENIED_ERROR', sqlState: '42000' }],
    ['request', 'a password that is wrong, on PostgreSQL', { code: '28P01' }],
    ['request', 'a file that may not be written', { code: 'SQLITE_READONLY' }],
    ['value', 'a value that is too long, on MySQL', { code: 'ER_DATA_TOO_LONG', sqlState: '22001' }],
    ['value', 'what a trigger raises, on PostgreSQL', { code: 'P0001' }],
    ['value', 'a constraint, on SQLite', { code: 'SQLITE_CONSTRAINT_TRIGGER' }],
    [undefined, 'a server that is down', { code: 'ECONNREFUSED' }],
    [undefined, 'a server that shuts down', { code: '57P01' }],
    [undefined, 'a connection that broke, on MySQL', { code: 'PROTOCOL_CONNECTION_LOST', sqlState: '08S01' }],
    [undefined, 'a file that is locked', { code: 'SQLITE_BUSY' }],
  ])('finds a refused %s in %s', async (refused, _what, fields) => {
    expect(Reflect.get(Object(await thrown(driverError('no', fields))), 'refuses')).toBe(refused);
  });
});
