import { setTimeout as pause } from 'node:timers/promises';
import { libraryCopy } from '../library-copy.mjs';
import { GroupCommit } from '../group-commit.mjs';
import { withPostgres } from '../servers/postgres.mjs';
import { postgresStorage } from '../storages/postgres-storage.mjs';

const pg = libraryCopy('pg');

const leaseMs = 30_000;

/** As narrow as a table of jobs can be that survives a crash of its worker. A job without a lease is due or waits. */
const schema = `
  CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payload text NOT NULL,
    run_at bigint NOT NULL DEFAULT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint,
    lease_until bigint
  );
  CREATE INDEX jobs_due ON jobs (run_at, id) WHERE lease_until IS NULL`;

const insert = {
  name: 'insert',
  text: 'INSERT INTO jobs (payload) SELECT * FROM unnest($1::text[])',
};

/** The whole life of a batch: what is finished goes, what is due comes. */
const exchange = {
  name: 'exchange',
  text: `
    WITH finished AS (DELETE FROM jobs WHERE id = ANY($1::bigint[])),
    due AS (
      SELECT id FROM jobs
      WHERE lease_until IS NULL AND run_at <= (SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
      ORDER BY run_at, id
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    )
    UPDATE jobs AS j
    SET lease_until = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint + ${leaseMs}
    FROM due
    WHERE j.id = due.id
    RETURNING j.id, j.payload`,
};

/** The limit of the server for this shape: SQL by hand, nothing of a queue around it. */
export function rawPostgres({ batch }) {
  const id = `raw-postgres-${batch}`;
  const storage = postgresStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => openSession(storage.url, async () => {}, batch),
    migrate: (url) => withPostgres((client) => client.query(schema), url),
  });
  return {
    id,
    name: `raw SQL, ${batch} a batch`,
    setting: 'one statement that deletes the finished and claims the next, one connection',
    ...storage,
    open: (run) => openSession(storage.url, run, batch),
  };
}

async function openSession(url, run, batch) {
  const client = new pg.Client({ connectionString: url });
  const producer = new pg.Client({ connectionString: url });
  await Promise.all([client.connect(), producer.connect()]);
  const insertAll = (payloads) => producer.query({ ...insert, values: [payloads.map((one) => JSON.stringify(one))] });
  const commit = new GroupCommit(insertAll);
  let isOn = true;
  let working = Promise.resolve();

  async function work() {
    let finished = [];
    while (isOn || finished.length > 0) {
      const { rows } = await client.query({ ...exchange, values: [`{${finished.join(',')}}`, isOn ? batch : 0] });
      await Promise.all(rows.map(({ payload }) => run(JSON.parse(payload))));
      if (rows.length === 0 && finished.length === 0) await pause(20);
      finished = rows.map((row) => row.id);
    }
  }

  return {
    enqueue: (payload) => commit.add(payload),
    enqueueMany: insertAll,
    start() {
      working = work();
    },
    async close() {
      isOn = false;
      await working;
      await Promise.all([client.end(), producer.end()]);
    },
  };
}
