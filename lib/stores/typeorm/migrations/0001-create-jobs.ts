import { JobState } from '../../../model/job-state.js';
import { defaultQueue, longestQueueName } from '../../../model/queue-name.js';
import { batchesSuffix, limitsSuffix, slotsSuffix, statisticsSuffix } from '../table-name.js';
import { ascii, utf8, type ColumnDefinition, type Migration, type SqlFamily } from './migration.js';
import { schedulesTable } from './schedules-table.js';

const { Pending, Running } = JobState;

/** What the index of unique keys holds: the keys of the jobs that are not over. */
export const holdsKey = `unique_key IS NOT NULL AND status IN ('${Pending}', '${Running}')`;
/** MySQL has no indexes of some rows only; null counts as no key there. Stored, since an index on a computed value is fragile. The line break is one. */
const heldKey = `CASE WHEN status IN ('${Pending}', '${Running}') THEN CONCAT(job_type, '\n', unique_key) END`;

/** A member of a batch, by its state: so changes of state leave the index alone where there is no batch. Of columns only that a server's mode does not fill up. */
const batchState = 'CONCAT(batch_id, status)';
/** Jobs of one key that run come first, then those that have been started before, then the others. */
export const keyPhase = `CASE WHEN status = '${Running}' THEN 0 WHEN history IS NOT NULL THEN 1 ELSE 2 END`;
/** What the index of keys holds: the jobs with a key that are not over. */
export const standsInLine = `job_key IS NOT NULL AND status IN ('${Pending}', '${Running}')`;
const lineKey = `CASE WHEN status IN ('${Pending}', '${Running}') THEN CONCAT(job_type, '\n', job_key) END`;

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
    addable('queue', {
      postgres: `text COLLATE "C" NOT NULL DEFAULT '${defaultQueue}'`,
      mysql: `VARCHAR(${longestQueueName}) ${utf8} NOT NULL DEFAULT '${defaultQueue}'`,
      sqlite: `TEXT NOT NULL DEFAULT '${defaultQueue}'`,
    }),
    addable('priority', count(0)),
    addable('attempts', count(0)),
    addable('max_retries', count(3)),
    addable('timeout', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
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
    addable('claim_token', { postgres: 'bigint', mysql: `VARCHAR(80) ${ascii}`, sqlite: 'TEXT' }),
    addable('claimed_by', { postgres: 'text', mysql: `VARCHAR(255) ${utf8}`, sqlite: 'TEXT' }),
    addable('context', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('lease_until', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
    addable('expires_at', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
    addable('tags', { postgres: 'text', mysql: `TEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('unique_key', { postgres: 'text COLLATE "C"', mysql: `VARCHAR(255) ${utf8}`, sqlite: 'TEXT' }),
    addable('held_key', { mysql: `VARCHAR(511) ${utf8} GENERATED ALWAYS AS (${heldKey}) STORED` }),
    addable('batch_id', { postgres: 'uuid', mysql: `VARCHAR(36) ${ascii}`, sqlite: 'TEXT' }),
    addable('batch_state', { mysql: `VARCHAR(52) ${ascii} GENERATED ALWAYS AS (${batchState}) STORED` }),
    addable('follows', { postgres: 'text', mysql: `TEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('job_key', { postgres: 'text COLLATE "C"', mysql: `VARCHAR(255) ${utf8}`, sqlite: 'TEXT' }),
    addable('keep_until', { postgres: 'bigint', mysql: 'BIGINT', sqlite: 'INTEGER' }),
    addable('result', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('history', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('progress', { postgres: 'text', mysql: `TEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('log', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('remembered', { postgres: 'text', mysql: `LONGTEXT ${utf8}`, sqlite: 'TEXT' }),
    addable('line_key', { mysql: `VARCHAR(511) ${utf8} GENERATED ALWAYS AS (${lineKey}) STORED` }),
    addable('line_phase', {
      mysql: `TINYINT GENERATED ALWAYS AS (CASE WHEN job_key IS NOT NULL THEN ${keyPhase} END) STORED`,
    }),
  ],
  indexes: [
    {
      suffix: 'pending',
      definition: {
        postgres: `(job_type, queue, priority, next_run_at, id) WHERE status = '${Pending}'`,
        mysql: '(status, job_type, queue, priority, next_run_at, id)',
        sqlite: `(job_type, queue, priority, next_run_at, id) WHERE status = '${Pending}'`,
      },
    },
    {
      suffix: 'running',
      definition: {
        postgres: `(lease_until) WHERE status = '${Running}'`,
        sqlite: `(lease_until) WHERE status = '${Running}'`,
      },
    },
    // Only jobs that are over have that moment, so where indexes can be partial, those that wait and run cost nothing here.
    {
      // Those with a moment of their own lie apart from those that the queue judges, so that neither is read to find the other.
      suffix: 'kept',
      definition: {
        postgres: '(status, keep_until, finished_at) WHERE finished_at IS NOT NULL',
        mysql: '(keep_until, finished_at)',
        sqlite: '(status, keep_until, finished_at) WHERE finished_at IS NOT NULL',
      },
    },
    {
      suffix: 'finished',
      definition: {
        postgres: '(status, finished_at, id) WHERE finished_at IS NOT NULL',
        mysql: '(finished_at)',
        sqlite: '(status, finished_at, id) WHERE finished_at IS NOT NULL',
      },
    },
    {
      suffix: 'finished_type',
      definition: {
        postgres: '(status, job_type, finished_at, id) WHERE finished_at IS NOT NULL',
        sqlite: '(status, job_type, finished_at, id) WHERE finished_at IS NOT NULL',
      },
    },
    {
      suffix: 'batch',
      definition: {
        postgres: '(batch_id, status, id) WHERE batch_id IS NOT NULL',
        mysql: '(batch_state)',
        sqlite: '(batch_id, status, id) WHERE batch_id IS NOT NULL',
      },
    },
    {
      suffix: 'unique',
      isUnique: true,
      definition: {
        postgres: `(job_type, unique_key) WHERE ${holdsKey}`,
        mysql: '(held_key)',
        sqlite: `(job_type, unique_key) WHERE ${holdsKey}`,
      },
    },
    {
      suffix: 'keyed',
      definition: {
        postgres: `(job_type, job_key, (${keyPhase}), next_run_at, id) WHERE ${standsInLine}`,
        mysql: '(line_key, line_phase, next_run_at, id)',
        sqlite: `(job_type, job_key, (${keyPhase}), next_run_at, id) WHERE ${standsInLine}`,
      },
    },
  ],
  tables: [
    {
      suffix: slotsSuffix,
      definition: {
        postgres:
          'job_type text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL, job_id uuid NOT NULL, ' +
          'free_at bigint NOT NULL, PRIMARY KEY (job_type, slot)',
        mysql:
          `job_type VARCHAR(255) ${utf8} NOT NULL, slot VARCHAR(300) ${utf8} NOT NULL, ` +
          `job_id CHAR(36) ${ascii} NOT NULL, free_at BIGINT NOT NULL, PRIMARY KEY (job_type, slot)`,
        sqlite:
          'job_type TEXT NOT NULL, slot TEXT NOT NULL, job_id TEXT NOT NULL, free_at INTEGER NOT NULL, ' +
          'PRIMARY KEY (job_type, slot)',
      },
      indexed: { free_at: 'free_at' },
    },
    {
      suffix: batchesSuffix,
      definition: {
        postgres: batchColumns({ id: 'uuid', state: 'text COLLATE "C"', text: 'text', bigint: 'bigint' }),
        mysql: batchColumns({
          id: `CHAR(36) ${ascii}`,
          state: `VARCHAR(16) ${ascii}`,
          text: `LONGTEXT ${utf8}`,
          bigint: 'BIGINT',
        }),
        sqlite: batchColumns({ id: 'TEXT', state: 'TEXT', text: 'TEXT', bigint: 'INTEGER' }),
      },
      indexed: { open: 'state, id', over: 'finished_at' },
    },
    {
      suffix: statisticsSuffix,
      definition: {
        postgres:
          'minute bigint NOT NULL, job_type text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL, ' +
          'completed bigint NOT NULL, failed bigint NOT NULL, retried bigint NOT NULL, waits text NOT NULL, ' +
          'runs text NOT NULL, PRIMARY KEY (minute, job_type, owner)',
        mysql:
          `minute BIGINT NOT NULL, job_type VARCHAR(255) ${utf8} NOT NULL, owner VARCHAR(255) ${utf8} NOT NULL, ` +
          `completed BIGINT NOT NULL, failed BIGINT NOT NULL, retried BIGINT NOT NULL, waits TEXT ${ascii} NOT NULL, ` +
          `runs TEXT ${ascii} NOT NULL, PRIMARY KEY (minute, job_type, owner)`,
        sqlite:
          'minute INTEGER NOT NULL, job_type TEXT NOT NULL, owner TEXT NOT NULL, completed INTEGER NOT NULL, ' +
          'failed INTEGER NOT NULL, retried INTEGER NOT NULL, waits TEXT NOT NULL, runs TEXT NOT NULL, ' +
          'PRIMARY KEY (minute, job_type, owner)',
      },
      indexed: {},
    },
    schedulesTable,
    {
      suffix: limitsSuffix,
      definition: {
        postgres: 'job_type text COLLATE "C" NOT NULL PRIMARY KEY, starts text NOT NULL, served_key text NOT NULL',
        mysql: `job_type VARCHAR(255) ${utf8} NOT NULL PRIMARY KEY, starts LONGTEXT ${ascii} NOT NULL, served_key VARCHAR(255) ${utf8} NOT NULL`,
        sqlite: 'job_type TEXT NOT NULL PRIMARY KEY, starts TEXT NOT NULL, served_key TEXT NOT NULL',
      },
      indexed: {},
    },
  ],
};

interface BatchTypes {
  readonly id: string;
  readonly state: string;
  readonly text: string;
  readonly bigint: string;
}

/** `steps` are those that were still to come when it was stored, of which `step` have been entered. */
function batchColumns({ id, state, text, bigint }: BatchTypes): string {
  return [
    `id ${id} NOT NULL PRIMARY KEY`,
    `state ${state} NOT NULL`,
    `steps ${text}`,
    `step ${bigint} NOT NULL`,
    `stored ${bigint} NOT NULL`,
    `total ${bigint} NOT NULL`,
    `completed ${bigint}`,
    `on_complete ${text}`,
    `on_failure ${text}`,
    `created_at ${bigint} NOT NULL`,
    `finished_at ${bigint}`,
  ].join(', ');
}

function needed(name: string, definition: Record<SqlFamily, string>): ColumnDefinition {
  return { name, definition, isAddable: false };
}

function addable(name: string, definition: ColumnDefinition['definition']): ColumnDefinition {
  return { name, definition, isAddable: true };
}

function count(initial: number): Record<SqlFamily, string> {
  const rule = `NOT NULL DEFAULT ${initial}`;
  return { postgres: `integer ${rule}`, mysql: `INT ${rule}`, sqlite: `INTEGER ${rule}` };
}
