import { payloads } from '../contestant.mjs';
import { freshFile, openSqlite, removeFile, settleFile, sqliteFile } from '../servers/sqlite.mjs';

/**
 * The storage of a contestant on SQLite: a file of its own.
 *
 * @param {object} parts
 * @param {string} parts.id
 * @param {string} parts.unfinished SELECT of the jobs that are not yet done, without its LIMIT.
 * @param {() => Promise<import('../contestant.mjs').Session>} parts.open For the seeding.
 * @param {(file: string) => Promise<void>} [parts.migrate]
 */
export function sqliteStorage({ id, unfinished, open, migrate = async () => {} }) {
  const file = sqliteFile(id);
  /** @type {import('better-sqlite3').Database | undefined} */
  let watcher;
  return {
    file,
    server: /** @type {const} */ ('sqlite'),
    async setUp() {
      await freshFile(file);
      await migrate(file);
    },
    async seed(count) {
      const session = await open();
      for (const chunk of payloads(count)) await session.enqueueMany(chunk);
      await session.close();
      settleFile(file);
      watcher = openSqlite(file);
    },
    remaining: async () => watcher.prepare(`${unfinished} LIMIT 1`).all().length,
    async tearDown() {
      watcher?.close();
      watcher = undefined;
      await removeFile(file);
    },
  };
}
