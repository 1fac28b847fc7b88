import { libraryCopy } from '../library-copy.mjs';

const mysql = libraryCopy('mysql2/promise');

const serverUrl = process.env.MYSQL_URL ?? 'mysql://root@127.0.0.1:3306/test';

/** The URL of another database on the same server. */
export function mysqlUrl(database) {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Runs statements on a connection that is closed afterwards.
 *
 * @template T
 * @param {(connection: mysql.Connection) => Promise<T>} run
 * @returns {Promise<T>}
 */
export async function withMysql(run, url = serverUrl) {
  const connection = await mysql.createConnection({ uri: url });
  try {
    return await run(connection);
  } finally {
    await connection.end();
  }
}

/** Makes an empty database, in the place of one of this name. */
export async function freshMysqlDatabase(database) {
  await withMysql(async (connection) => {
    await connection.query(`DROP DATABASE IF EXISTS ${database}`);
    await connection.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  });
}

export async function dropMysqlDatabase(database) {
  await withMysql((connection) => connection.query(`DROP DATABASE IF EXISTS ${database}`));
}

/** Brings the tables of a seeded database into the state in which every measurement starts. */
export async function analyzeMysqlDatabase(url) {
  await withMysql(async (connection) => {
    const [tables] = await connection.query('SHOW TABLES');
    for (const row of tables) await connection.query(`ANALYZE TABLE \`${Object.values(row)[0]}\``);
  }, url);
}

/**
 * What the report says about the server.
 *
 * @throws when it does not write each commit to disk: such figures are worth nothing.
 */
export async function describeMysql() {
  return withMysql(async (connection) => {
    const [rows] = await connection.query(
      `SELECT version() AS version, @@innodb_flush_log_at_trx_commit AS flush_log, @@innodb_doublewrite AS doublewrite,
         @@log_bin AS log_bin, @@sync_binlog AS sync_binlog, @@innodb_buffer_pool_size AS buffer_pool`,
    );
    const { version, ...settings } = rows[0];
    if (Number(settings.flush_log) !== 1) {
      throw new Error(`MySQL runs with innodb_flush_log_at_trx_commit = ${settings.flush_log}; measure it with 1`);
    }
    return { name: /mariadb/i.test(version) ? 'MariaDB' : 'MySQL', version, settings };
  });
}
