import { withMysql } from '../servers/mysql.mjs';
import { withPostgres } from '../servers/postgres.mjs';
import { openSqlite } from '../servers/sqlite.mjs';

/** Ids in the order of their numbers, like those of jobs that were stored one after the other. */
const idOf = {
  postgres: (series) => `('00000000-0000-7000-800${series}-' || lpad(to_hex(n), 12, '0'))::uuid`,
  mysql: (series) => `CONCAT('00000000-0000-7000-800${series}-', LPAD(LOWER(HEX(n)), 12, '0'))`,
  sqlite: (series) => `'00000000-0000-7000-800${series}-' || printf('%012x', n)`,
};

const execute = {
  postgres: ({ url }, statements) =>
    withPostgres(async (client) => {
      for (const statement of statements) await client.query(statement);
    }, url),
  mysql: ({ url }, statements) =>
    withMysql(async (connection) => {
      for (const statement of statements) await connection.query(statement);
    }, url),
  async sqlite({ file }, statements) {
    const database = openSqlite(file);
    for (const statement of statements) database.exec(statement);
    database.close();
  },
};

const brought = {
  postgres: ['VACUUM (ANALYZE) rws_jobs', 'CHECKPOINT'],
  mysql: ['ANALYZE TABLE rws_jobs'],
  sqlite: ['ANALYZE', 'PRAGMA wal_checkpoint(TRUNCATE)'],
};

/** Puts as many jobs that are due in a day, and as many that have failed, into our table; of the type that will be claimed. */
export async function addCrowd({ server, ...storage }, rows) {
  const dayMs = 86_400_000;
  const now = Date.now();
  const insert = (series, status, dueAt) => `
    INSERT INTO rws_jobs (id, job_type, payload, status, max_retries, next_run_at, created_at)
    ${numbers(rows)}
    SELECT ${idOf[server](series)}, 'noop', '{"n":0}', '${status}', 3, ${dueAt} + n, ${now} FROM numbers`;
  await execute[server](storage, [insert(1, 'pending', now + dayMs), insert(2, 'failed', now - dayMs)]);
}

/** Puts as many failed jobs into our table, of which 5000 are far older than the others; these are spread over the table. */
export async function addFinished({ server, ...storage }, rows) {
  const finishedAt = `CASE WHEN n % ${rows / 5_000} = 0 THEN n ELSE ${Date.now()} + n END`;
  await execute[server](storage, [
    `INSERT INTO rws_jobs (id, job_type, payload, status, max_retries, next_run_at, created_at, finished_at)
    ${numbers(rows)}
    SELECT ${idOf[server](2)}, 'noop', '{"n":0}', 'failed', 3, n, n, ${finishedAt} FROM numbers`,
  ]);
}

/** Vacuums and analyses what the database can. */
export async function bringToRest({ server, ...storage }) {
  await execute[server](storage, brought[server]);
}

/** The numbers from 0, in every dialect: digits crossed with digits. */
function numbers(count) {
  const places = [0, 1, 2, 3, 4, 5, 6];
  const digits = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ');
  const n = places.map((place) => `d${place}.d * ${10 ** place}`).join(' + ');
  const from = places.map((place) => `digits AS d${place}`).join(' CROSS JOIN ');
  return `WITH digits AS (${digits}), numbers AS (SELECT ${n} AS n FROM ${from} WHERE ${n} < ${count})`;
}
