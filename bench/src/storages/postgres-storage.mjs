import { libraryCopy } from '../library-copy.mjs';
import { payloads } from '../contestant.mjs';
import { dropDatabase, freshDatabase, postgresUrl, settleDatabase, transactionsOf } from '../servers/postgres.mjs';

const pg = libraryCopy('pg');

/**
 * The storage of a contestant on PostgreSQL: a database of its own.
 *
 * @param {object} parts
 * @param {string} parts.id
 * @param {string} parts.unfinished SELECT of the jobs that are not yet done, without its LIMIT.
 * @param {() => Promise<import('../contestant.mjs').Session>} parts.open For the seeding.
 * @param {(url: string) => Promise<void>} [parts.migrate]
 */
export function postgresStorage({ id, unfinished, open, migrate = async () => {} }) {
  const database = `jobs_bench_${id.replaceAll('-', '_')}`;
  const url = postgresUrl(database);
  /** @type {pg.Client | undefined} */
  let watcher;
  return {
    url,
    server: /** @type {const} */ ('postgres'),
    async setUp() {
      await freshDatabase(database);
      await migrate(url);
    },
    async seed(count) {
      const session = await open();
      for (const chunk of payloads(count)) await session.enqueueMany(chunk);
      await session.close();
      await settleDatabase(url);
      watcher = new pg.Client({ connectionString: url });
      await watcher.connect();
      await watcher.query(`${unfinished} LIMIT 1`);
    },
    async remaining() {
      const { rows } = await watcher.query(`${unfinished} LIMIT 1`);
      return rows.length;
    },
    requests: () => transactionsOf(database),
    async tearDown() {
      await watcher?.end();
      watcher = undefined;
      await dropDatabase(database);
    },
  };
}
