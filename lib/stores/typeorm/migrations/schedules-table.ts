import { schedulesSuffix } from '../table-name.js';
import { ascii, utf8, type SqlFamily, type TableDefinition } from './migration.js';

interface ColumnTypes {
  readonly name: string;
  readonly words: string;
  readonly number: string;
  readonly id: string;
  readonly long: string;
}

/** A name is at most 255 characters, and so are a cron expression and the name of a zone. */
const types: Readonly<Record<SqlFamily, ColumnTypes>> = {
  postgres: { name: 'text COLLATE "C"', words: 'text', number: 'bigint', id: 'uuid', long: 'text' },
  mysql: {
    name: `VARCHAR(255) ${utf8}`,
    words: `VARCHAR(255) ${utf8}`,
    number: 'BIGINT',
    id: `CHAR(36) ${ascii}`,
    long: `LONGTEXT ${utf8}`,
  },
  sqlite: { name: 'TEXT', words: 'TEXT', number: 'INTEGER', id: 'TEXT', long: 'TEXT' },
};

/**
 * One row for each schedule. `done_until` is what makes a slot fire once: whoever moves it on past a slot, from where he saw it, has the slot,
 * and stores its job in the same transaction.
 */
export const schedulesTable: TableDefinition = {
  suffix: schedulesSuffix,
  definition: { postgres: columns('postgres'), mysql: columns('mysql'), sqlite: columns('sqlite') },
  indexed: {},
};

function columns(family: SqlFamily): string {
  const { name, words, number, id, long } = types[family];
  return [
    `name ${name} NOT NULL PRIMARY KEY`,
    ...['source', 'job_type', 'cron', 'time_zone', 'misfire', 'overlap'].map((column) => `${column} ${words} NOT NULL`),
    `payload ${long}`,
    `job_options ${long} NOT NULL`,
    ...['fingerprint', 'generation'].map((column) => `${column} ${words} NOT NULL`),
    ...['is_paused', 'skipped'].map((column) => `${column} ${number} NOT NULL DEFAULT 0`),
    `last_slot ${number}`,
    `last_job_id ${id}`,
    ...['done_until', 'seen_at', 'created_at'].map((column) => `${column} ${number} NOT NULL`),
  ].join(', ');
}
