import { StoreError } from '../../../lib/model/errors.js';
import { storeTrouble } from '../../../lib/observe/store-trouble.js';

describe('the line about a store', () => {
  it.each([
    ['a right that is missing, on PostgreSQL', { code: '42501' }],
    ['a table that is missing, on PostgreSQL', { code: '42P01' }],
    ['a right that is missing, on MySQL', { code: 'ER_TABLEACCESS_DENIED_ERROR', sqlState: '42000' }],
    ['a password that is wrong, on PostgreSQL', { code: '28P01' }],
    ['a file that may not be written', { code: 'SQLITE_READONLY' }],
  ])('calls %s a refusal', (_what, cause) => {
    expect(storeTrouble(new StoreError('could not claim jobs', { cause }))).toMatch(/refuses/);
  });

  it.each([
    ['a server that is down', { code: 'ECONNREFUSED' }],
    ['a server that shuts down', { code: '57P01' }],
    ['a connection that broke, on MySQL', { code: 'PROTOCOL_CONNECTION_LOST', sqlState: '08S01' }],
    ['a file that is locked', { code: 'SQLITE_BUSY' }],
    ['a wait without an error of the server', undefined],
  ])('says of %s that nobody answers', (_what, cause) => {
    expect(storeTrouble(new StoreError('could not claim jobs', { cause }))).toMatch(/does not answer/);
  });
});
