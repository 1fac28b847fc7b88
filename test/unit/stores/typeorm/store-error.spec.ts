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
    driverError('database is locked', { code: 'SQLITE_BUSY' }),
  ])('shows the message of %s', async (cause) => {
    expect(String(await thrown(cause))).toContain(cause.message);
  });
});
