import { randomBytes } from 'node:crypto';
import { uuidv7 } from '../uuid.mjs';

const leaseMs = 30_000;
const nowMs = 'FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000)';
/** Only for what was made here or by the server: keys and tokens. */
const quoted = (values) => values.map((value) => `'${value}'`).join(',');

/**
 * A table to work on and the statements that this takes.
 *
 * @typedef {object} RawTable
 * @property {string} described
 * @property {string} schema
 * @property {(payloads: unknown[]) => [text: string, values: unknown[]]} insert
 * @property {(finished: any[]) => string} remove
 * @property {(batch: number) => string} lock
 * @property {(rows: any[]) => string} mark
 */

/** What a queue with our promises has to keep of a job: a key made outside, a type, retries, a claim that can be told from the next. */
export const wideTable = {
  described: 'uuid v7 keys, job types, fenced claims',
  schema: `
    CREATE TABLE jobs (
      id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
      job_type VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
      attempts INT NOT NULL DEFAULT 0,
      max_retries INT NOT NULL DEFAULT 3,
      run_at BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      last_error LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
      token VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
      lease_until BIGINT,
      KEY jobs_due (status, job_type, run_at, id)
    ) ENGINE = InnoDB`,
  insert: (payloads) => [
    `INSERT INTO jobs (id, job_type, payload, run_at, created_at)
     VALUES ${payloads.map(() => `('${uuidv7()}', 'noop', ?, ${nowMs}, ${nowMs})`).join(', ')}`,
    payloads.map((payload) => JSON.stringify(payload)),
  ],
  remove: (finished) =>
    `DELETE FROM jobs
     WHERE id IN (${quoted(finished.map(({ id }) => id))}) AND token IN (${quoted(finished.map(({ token }) => token))})`,
  lock: (batch) =>
    `SELECT id, payload, attempts, max_retries FROM jobs
     WHERE status = 'pending' AND job_type = 'noop' AND run_at <= ${nowMs}
     ORDER BY run_at, id LIMIT ${batch} FOR UPDATE SKIP LOCKED`,
  mark(rows) {
    const nonce = randomBytes(16).toString('hex');
    for (const row of rows) row.token = `${nonce}${row.id}`;
    return `UPDATE jobs SET status = 'running', token = CONCAT('${nonce}', id), lease_until = ${nowMs} + ${leaseMs}
      WHERE id IN (${quoted(rows.map(({ id }) => id))})`;
  },
};

/** As narrow as a table of jobs can be that survives a crash of its worker. */
export const narrowTable = {
  described:
    'the narrowest table that survives a crash: counted keys, no types, no retries, claims that are not fenced',
  schema: `
    CREATE TABLE jobs (
      id BIGINT AUTO_INCREMENT PRIMARY KEY,
      payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      run_at BIGINT NOT NULL,
      status TINYINT NOT NULL DEFAULT 0,
      lease_until BIGINT,
      KEY jobs_due (status, run_at, id)
    ) ENGINE = InnoDB`,
  insert: (payloads) => [
    `INSERT INTO jobs (payload, run_at) VALUES ${payloads.map(() => `(?, ${nowMs})`).join(', ')}`,
    payloads.map((payload) => JSON.stringify(payload)),
  ],
  remove: (finished) => `DELETE FROM jobs WHERE id IN (${finished.map(({ id }) => id).join(',')})`,
  lock: (batch) =>
    `SELECT id, payload FROM jobs WHERE status = 0 AND run_at <= ${nowMs}
     ORDER BY run_at, id LIMIT ${batch} FOR UPDATE SKIP LOCKED`,
  mark: (rows) =>
    `UPDATE jobs SET status = 1, lease_until = ${nowMs} + ${leaseMs} WHERE id IN (${rows.map(({ id }) => id).join(',')})`,
};
