import { setTimeout as pause } from 'node:timers/promises';
import { libraryCopy } from '../library-copy.mjs';
import { GroupCommit } from '../group-commit.mjs';
import { withMysql } from '../servers/mysql.mjs';
import { mysqlStorage } from '../storages/mysql-storage.mjs';

const mysql = libraryCopy('mysql2/promise');

const leaseMs = 30_000;
const nowMs = 'FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000)';

/** As narrow as a table of jobs can be that survives a crash of its worker; a claim is a number that is never used twice. */
const schema = [
  `CREATE TABLE jobs (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    run_at BIGINT NOT NULL,
    status TINYINT NOT NULL DEFAULT 0,
    lease_until BIGINT,
    KEY jobs_due (status, run_at, id)
  ) ENGINE = InnoDB`,
];

/** The limit of the server for this shape: SQL by hand, nothing of a queue around it. */
export function rawMysql({ batch }) {
  const id = `raw-mysql-${batch}`;
  const storage = mysqlStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => openSession(storage.url, async () => {}, batch),
    migrate: (url) =>
      withMysql(async (connection) => {
        for (const statement of schema) await connection.query(statement);
      }, url),
  });
  return {
    id,
    name: `raw SQL, ${batch} a batch`,
    setting: 'one transaction that deletes the finished and claims the next, one connection',
    ...storage,
    open: (run) => openSession(storage.url, run, batch),
  };
}

async function openSession(url, run, batch) {
  const options = { uri: url, multipleStatements: true };
  const [client, producer] = await Promise.all([mysql.createConnection(options), mysql.createConnection(options)]);
  await client.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
  const insertAll = (payloads) =>
    producer.query(
      `INSERT INTO jobs (payload, run_at) VALUES ${payloads.map(() => `(?, ${nowMs})`).join(', ')}`,
      payloads.map((payload) => JSON.stringify(payload)),
    );
  const commit = new GroupCommit(insertAll);
  let isOn = true;
  let working = Promise.resolve();

  async function work() {
    let finished = [];
    while (isOn || finished.length > 0) {
      const rows = await exchange(client, finished, isOn ? batch : 0);
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

/** Two trips: what is finished goes and what is due is locked; what was locked is marked and committed. */
async function exchange(client, finished, batch) {
  const remove = finished.length === 0 ? '' : `DELETE FROM jobs WHERE id IN (${finished.join(',')});`;
  const [results] = await client.query(
    `BEGIN; ${remove}
     SELECT id, payload FROM jobs WHERE status = 0 AND run_at <= ${nowMs}
     ORDER BY run_at, id LIMIT ${batch} FOR UPDATE SKIP LOCKED`,
  );
  const rows = results.at(-1);
  const ids = rows.map(({ id }) => id);
  const mark =
    ids.length === 0
      ? ''
      : `UPDATE jobs SET status = 1, lease_until = ${nowMs} + ${leaseMs} WHERE id IN (${ids.join(',')});`;
  await client.query(`${mark} COMMIT`);
  return rows;
}
