import { uuidv7 } from '../uuid.mjs';

const leaseMs = 30_000;
const nowMs = 'floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint';
const texts = (values) => `{${values.join(',')}}`;

/**
 * A table to work on and the two statements that this takes.
 *
 * @typedef {object} RawTable
 * @property {string} described
 * @property {string} schema
 * @property {{ name: string, text: string }} insert
 * @property {(payloads: unknown[]) => unknown[]} insertValues
 * @property {{ name: string, text: string }} exchange The whole life of a batch: what is finished goes, what is due comes.
 * @property {(finished: { id: string, token?: string }[]) => unknown[]} finishedValues
 */

/** What a queue with our promises has to keep of a job: a key made outside, a type, retries, a claim that can be told from the next. */
export const wideTable = {
  described: 'uuid v7 keys, job types, fenced claims',
  schema: `
    CREATE TABLE jobs (
      id uuid PRIMARY KEY,
      job_type text COLLATE "C" NOT NULL,
      payload text NOT NULL,
      status text COLLATE "C" NOT NULL DEFAULT 'pending',
      attempts integer NOT NULL DEFAULT 0,
      max_retries integer NOT NULL DEFAULT 3,
      run_at bigint NOT NULL,
      created_at bigint NOT NULL,
      last_error text,
      token bigint,
      lease_until bigint
    );
    CREATE INDEX jobs_due ON jobs (job_type, run_at, id) WHERE status = 'pending';
    CREATE INDEX jobs_held ON jobs (lease_until) WHERE status = 'running'`,
  insert: {
    name: 'insert',
    text: `
      INSERT INTO jobs (id, job_type, payload, run_at, created_at)
      SELECT given.id, 'noop', given.payload, ${nowMs}, ${nowMs}
      FROM unnest($1::uuid[], $2::text[]) AS given(id, payload)`,
  },
  insertValues: (payloads) => [texts(payloads.map(() => uuidv7())), payloads.map((payload) => JSON.stringify(payload))],
  exchange: {
    name: 'exchange',
    text: `
      WITH finished AS (DELETE FROM jobs WHERE id = ANY($1::uuid[]) AND token = ANY($2::bigint[])),
      due AS (
        SELECT ctid FROM jobs
        WHERE status = 'pending' AND job_type = 'noop' AND run_at <= (SELECT ${nowMs})
        ORDER BY run_at, id
        LIMIT $3
        FOR UPDATE SKIP LOCKED
      )
      UPDATE jobs
      SET status = 'running', token = (random() * 9e15)::bigint, lease_until = (SELECT ${nowMs}) + ${leaseMs}
      WHERE ctid = ANY(ARRAY(SELECT ctid FROM due))
      RETURNING id, payload, token, attempts, max_retries`,
  },
  finishedValues: (finished) => [texts(finished.map(({ id }) => id)), texts(finished.map(({ token }) => token))],
};

/** As narrow as a table of jobs can be that survives a crash of its worker. A job without a lease is due or waits. */
export const narrowTable = {
  described:
    'the narrowest table that survives a crash: counted keys, no types, no retries, claims that are not fenced',
  schema: `
    CREATE TABLE jobs (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      payload text NOT NULL,
      run_at bigint NOT NULL,
      lease_until bigint
    );
    CREATE INDEX jobs_due ON jobs (run_at, id) WHERE lease_until IS NULL`,
  insert: {
    name: 'insert',
    text: `INSERT INTO jobs (payload, run_at) SELECT given.payload, ${nowMs} FROM unnest($1::text[]) AS given(payload)`,
  },
  insertValues: (payloads) => [payloads.map((payload) => JSON.stringify(payload))],
  exchange: {
    name: 'exchange',
    text: `
      WITH finished AS (DELETE FROM jobs WHERE id = ANY($1::bigint[])),
      due AS (
        SELECT ctid FROM jobs
        WHERE lease_until IS NULL AND run_at <= (SELECT ${nowMs})
        ORDER BY run_at, id
        LIMIT $2
        FOR UPDATE SKIP LOCKED
      )
      UPDATE jobs
      SET lease_until = (SELECT ${nowMs}) + ${leaseMs}
      WHERE ctid = ANY(ARRAY(SELECT ctid FROM due))
      RETURNING id, payload`,
  },
  finishedValues: (finished) => [texts(finished.map(({ id }) => id))],
};
