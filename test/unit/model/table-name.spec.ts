import { InvalidOptionError } from '../../../lib/model/errors.js';
import { checkTableName, splitTableName } from '../../../lib/model/table-name.js';

describe('a table name', () => {
  it.each(['rws_jobs', '_x', 'A1', 'order', 'x'.repeat(50), 'app.jobs', `${'s'.repeat(63)}.${'t'.repeat(50)}`])(
    'may be %s',
    (name) => {
      expect(checkTableName('tableName', name)).toBe(name);
    },
  );

  it.each([
    '',
    '1jobs',
    'weird "name',
    'a-b',
    'jobs;drop',
    'jöbs',
    'a.b.c',
    '.jobs',
    'app.',
    'jobs\n',
    'x'.repeat(51),
    `${'s'.repeat(64)}.jobs`,
  ])('may not be %p', (name) => {
    expect(() => checkTableName('tableName', name)).toThrow(InvalidOptionError);
    expect(() => checkTableName('tableName', name)).toThrow(/^tableName must/);
  });

  it.each([undefined, null, 7, {}, ['jobs']])('may not be %p', (name) => {
    expect(() => checkTableName('tableName', name)).toThrow(InvalidOptionError);
  });

  it('has a schema before the dot', () => {
    expect(splitTableName('tableName', 'app.jobs')).toEqual({ schema: 'app', table: 'jobs' });
    expect(splitTableName('tableName', 'jobs')).toEqual({ schema: undefined, table: 'jobs' });
  });
});
