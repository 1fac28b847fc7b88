import { join } from 'node:path';
import type { ChaosServer } from './server.js';

/** A file that all processes share. */
export function sqliteFile(folder: string): ChaosServer {
  const database = join(folder, 'chaos.sqlite');
  return {
    title: 'SQLite, one WAL file',
    port: undefined,
    power: undefined,
    // The app's own transactions give up soon: while they wait for the lock, the process stands still.
    options: () => ({ type: 'better-sqlite3', database, enableWAL: true, timeout: 100 }),
    close: () => Promise.resolve(),
  };
}
