import { randomBytes } from 'node:crypto';
import { uuidv7 } from '../uuid.mjs';

const leaseMs = 30_000;
const json = (values) => JSON.stringify(values);

/**
 * A table to work on, and the statements that this takes, prepared once for a connection.
 *
 * @typedef {object} RawTable
 * @property {string} described
 * @property {string} schema
 * @property {(database: import('better-sqlite3').Database) => RawStatements} prepare
 *
 * @typedef {object} RawStatements
 * @property {(payloads: unknown[]) => void} insertAll
 * @property {(finished: any[], batch: number) => any[]} exchange The whole life of a batch: what is finished goes, what is due comes.
 */

/** What a queue with our promises has to keep of a job: a key made outside, a type, retries, a claim that can be told from the next. */
export const wideTable = {
  described: 'uuid v7 keys, job types, fenced claims',
  schema: `
    CREATE TABLE jobs (
      id TEXT NOT NULL PRIMARY KEY,
      job_type TEXT NOT NULL,
      payload TEXT NOT NULL,
      status TEXT NOT NULL DEFAULT 'pending',
      attempts INTEGER NOT NULL DEFAULT 0,
      max_retries INTEGER NOT NULL DEFAULT 3,
      run_at INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      last_error TEXT,
      token TEXT,
      lease_until INTEGER
    );
    CREATE INDEX jobs_due ON jobs (job_type, run_at, id) WHERE status = 'pending';
    CREATE INDEX jobs_held ON jobs (lease_until) WHERE status = 'running'`,
  prepare(database) {
    const insert = database.prepare(
      "INSERT INTO jobs (id, job_type, payload, run_at, created_at) VALUES (?, 'noop', ?, ?, ?)",
    );
    const remove = database.prepare(
      `DELETE FROM jobs
       WHERE id IN (SELECT value FROM json_each(?)) AND token IN (SELECT value FROM json_each(?))`,
    );
    const claim = database.prepare(
      `UPDATE jobs SET status = 'running', token = ? || id, lease_until = ?
       WHERE rowid IN (
         SELECT rowid FROM jobs WHERE status = 'pending' AND job_type = 'noop' AND run_at <= ? ORDER BY run_at, id LIMIT ?
       )
       RETURNING id, payload, token, attempts, max_retries`,
    );
    return {
      insertAll: inTransaction(database, (payloads) => {
        const now = Date.now();
        for (const payload of payloads) insert.run(uuidv7(), json(payload), now, now);
      }),
      exchange: inTransaction(database, (finished, batch) => {
        if (finished.length > 0)
          remove.run(json(finished.map(({ id }) => id)), json(finished.map(({ token }) => token)));
        const now = Date.now();
        return claim.all(randomBytes(16).toString('hex'), now + leaseMs, now, batch);
      }),
    };
  },
};

/** As narrow as a table of jobs can be that survives a crash of its worker. A job without a lease is due or waits. */
export const narrowTable = {
  described:
    'the narrowest table that survives a crash: counted keys, no types, no retries, claims that are not fenced',
  schema: `
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, run_at INTEGER NOT NULL, lease_until INTEGER);
    CREATE INDEX jobs_due ON jobs (run_at, id) WHERE lease_until IS NULL`,
  prepare(database) {
    const insert = database.prepare('INSERT INTO jobs (payload, run_at) VALUES (?, ?)');
    const remove = database.prepare('DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))');
    const claim = database.prepare(
      `UPDATE jobs SET lease_until = ?
       WHERE id IN (SELECT id FROM jobs WHERE lease_until IS NULL AND run_at <= ? ORDER BY run_at, id LIMIT ?)
       RETURNING id, payload`,
    );
    return {
      insertAll: inTransaction(database, (payloads) => {
        const now = Date.now();
        for (const payload of payloads) insert.run(json(payload), now);
      }),
      exchange: inTransaction(database, (finished, batch) => {
        if (finished.length > 0) remove.run(json(finished.map(({ id }) => id)));
        const now = Date.now();
        return claim.all(now + leaseMs, now, batch);
      }),
    };
  },
};

/** Takes the lock at its beginning: two processes that both read first could not both write then. */
function inTransaction(database, work) {
  const transaction = database.transaction(work);
  return (...values) => transaction.immediate(...values);
}
