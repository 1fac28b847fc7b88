import { hasMariadb } from '../../support/server-engines.js';
import { ownServer } from './own.js';
import type { ChaosServer } from './server.js';
import { sharedServer } from './shared.js';
import { sqliteFile } from './sqlite.js';

export type ChaosDatabase = 'postgres' | 'mysql' | 'sqlite';

export const chaosDatabases: readonly ChaosDatabase[] = ['sqlite', 'postgres', 'mysql'];

/**
 * A database for one run: a server of our own where one can be had, else the one that MYSQL_URL names.
 *
 * @throws Error where there is neither.
 */
export async function openServer(database: ChaosDatabase, folder: string): Promise<ChaosServer> {
  if (database === 'sqlite') return sqliteFile(folder);
  if (database === 'postgres' || hasMariadb()) return ownServer(database);
  const url = process.env['MYSQL_URL'];
  if (url === undefined) throw new Error('no MariaDB is installed; install mariadb-server, or name one in MYSQL_URL');
  return sharedServer(url);
}
