import { libraryCopy } from '../library-copy.mjs';

const pg = libraryCopy('pg');

const serverUrl = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test';

/** The URL of another database on the same server. */
export function postgresUrl(database) {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Runs statements on a connection that is closed afterwards.
 *
 * @template T
 * @param {(client: pg.Client) => Promise<T>} run
 * @param {string} url Default: the database that was named by POSTGRES_URL.
 * @returns {Promise<T>}
 */
export async function withPostgres(run, url = serverUrl) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** Makes an empty database, in the place of one of this name. Two contestants never share one. */
export async function freshDatabase(database) {
  await withPostgres(async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${database}`);
  });
}

export async function dropDatabase(database) {
  await withPostgres((client) => client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`));
}

/** Brings a seeded database into the state in which every measurement starts: vacuumed, analysed, nothing left to write back. */
export async function settleDatabase(url) {
  await withPostgres(async (client) => {
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
  }, url);
}

/** Transactions that a database has seen so far; in autocommit each statement is one. */
export async function transactionsOf(database) {
  return withPostgres(async (client) => {
    const { rows } = await client.query(
      'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = $1',
      [database],
    );
    return Number(rows[0].count);
  });
}

/**
 * What the report says about the server.
 *
 * @throws when it was made faster by weaker promises: such figures are worth nothing.
 */
export async function describePostgres() {
  return withPostgres(async (client) => {
    const { rows } = await client.query(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'autovacuum')`,
    );
    const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      if (settings[name] !== 'on')
        throw new Error(`PostgreSQL runs with ${name} = ${settings[name]}; measure it with on`);
    }
    const { server_version: version, ...others } = settings;
    return { name: 'PostgreSQL', version, settings: others };
  });
}
