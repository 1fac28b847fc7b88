import { JobState } from '../../../model/job-state.js';
import type { ColumnDefinition, Migration, SqlFamily } from './migration.js';

const { Pending, Running, Failed } = JobState;
const ascii = 'CHARACTER SET ascii COLLATE ascii_bin';
/** Names charset and collation itself: a server's default may be latin1, and may take `sync` and `Sync` for one type. */
const utf8 = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/** Times are epoch milliseconds; `attempts` are those that failed. */
export const createJobs: Migration = {
  version: 1,
  compatibleWith: 1,
  columns: [
    needed('id', {
      postgres: 'uuid NOT NULL PRIMARY KEY',
      mysql: `CHAR(36) ${ascii} NOT NULL PRIMARY KEY`,
      sqlite: 'TEXT NOT NULL PRIMARY KEY',
    }),
    needed('job_type', {
      postgres: 'text COLLATE "C" NOT NULL',
      mysql: `VARCHAR(255) ${utf8} NOT NULL`,
      sqlite: 'TEXT NOT NULL',
    }),
    needed('payload', { postgres: 'text NOT NULL', mysql: `LONGTEXT ${utf8} NOT NULL`, sqlite: 'TEXT NOT NULL' }),
    addable('status', {
      postgres: `text COLLATE "C" NOT NULL DEFAULT '${Pending}'`,
      mysql: `VARCHAR(16) ${ascii} NOT NULL DEFAULT '${Pending}'`,
      sqlite: `TEXT NOT NULL DEFAULT '${Pending}'`,
    }),
    addable('attempts', count(0)),
    addable('max_retries', count(3)),
    needed('next_run_at', {
      postgres: 'bigint NOT NULL',
      mysql: 'BIGINT NOT NULL',
      sqlite: 'INTEGER NOT NULL',
    }),
    needed('created_at', {
      postgres: 'bigint NOT NULL',
      mysql: 'BIGINT NOT NULL',
      sqlite: 'INTEGER NOT NULL',
    }),
    addable('last_error', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('finished_at', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
    addable('interruptions', count(0)),
    addable('claim_token', { postgres: 'uuid', mysql: `VARCHAR(80) ${ascii}`, sqlite: 'TEXT' }),
    addable('claimed_by', { postgres: 'text', mysql: `VARCHAR(255) ${utf8}`, sqlite: 'TEXT' }),
    addable('context', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('lease_until', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
  ],
  indexes: [
    {
      suffix: 'pending',
      definition: {
        postgres: `(job_type, next_run_at, id) WHERE status = '${Pending}'`,
        mysql: '(status, job_type, next_run_at, id)',
        sqlite: `(job_type, next_run_at, id) WHERE status = '${Pending}'`,
      },
    },
    {
      suffix: 'running',
      definition: {
        postgres: `(lease_until) WHERE status = '${Running}'`,
        sqlite: `(lease_until) WHERE status = '${Running}'`,
      },
    },
    {
      suffix: 'failed',
      definition: {
        postgres: `(finished_at) WHERE status = '${Failed}'`,
        mysql: '(finished_at)',
        sqlite: `(finished_at) WHERE status = '${Failed}'`,
      },
    },
  ],
};

function needed(name: string, definition: Record<SqlFamily, string>): ColumnDefinition {
  return { name, definition, isAddable: false };
}

function addable(name: string, definition: Record<SqlFamily, string>): ColumnDefinition {
  return { name, definition, isAddable: true };
}

function count(initial: number): Record<SqlFamily, string> {
  const rule = `NOT NULL DEFAULT ${initial}`;
  return { postgres: `integer ${rule}`, mysql: `INT ${rule}`, sqlite: `INTEGER ${rule}` };
}
