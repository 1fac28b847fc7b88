import { libraryCopy } from '../library-copy.mjs';
import { payloads } from '../contestant.mjs';
import { analyzeMysqlDatabase, dropMysqlDatabase, freshMysqlDatabase, mysqlUrl } from '../servers/mysql.mjs';

const mysql = libraryCopy('mysql2/promise');

/**
 * The storage of a contestant on MySQL or MariaDB: a database of its own.
 *
 * @param {object} parts
 * @param {string} parts.id
 * @param {string} parts.unfinished SELECT of the jobs that are not yet done, without its LIMIT.
 * @param {() => Promise<import('../contestant.mjs').Session>} parts.open For the seeding.
 * @param {(url: string) => Promise<void>} [parts.migrate]
 */
export function mysqlStorage({ id, unfinished, open, migrate = async () => {} }) {
  const database = `jobs_bench_${id.replaceAll('-', '_')}`;
  const url = mysqlUrl(database);
  /** @type {mysql.Connection | undefined} */
  let watcher;
  return {
    url,
    server: /** @type {const} */ ('mysql'),
    async setUp() {
      await freshMysqlDatabase(database);
      await migrate(url);
    },
    async seed(count) {
      const session = await open();
      for (const chunk of payloads(count)) await session.enqueueMany(chunk);
      await session.close();
      await analyzeMysqlDatabase(url);
      watcher = await mysql.createConnection({ uri: url });
    },
    async remaining() {
      const [rows] = await watcher.query(`${unfinished} LIMIT 1`);
      return rows.length;
    },
    async tearDown() {
      await watcher?.end();
      watcher = undefined;
      await dropMysqlDatabase(database);
    },
  };
}
