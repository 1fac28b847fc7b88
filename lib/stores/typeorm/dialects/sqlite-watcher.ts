import { withBusyTimeout, type SqliteHandle } from './sqlite-handle.js';

const lookMs = 25;

/**
 * Notices that another process has written to the file: SQLite counts the commits of other connections, and asking for the count
 * costs microseconds. Returns the way to stop. A database in memory has no other connections.
 */
export function watchForCommits(handle: () => SqliteHandle, wake: () => void): () => void {
  let known: number | undefined;
  const look = (): void => {
    const version = dataVersion(handle);
    if (version === undefined) return;
    if (known !== undefined && version !== known) wake();
    known = version;
  };
  const timer = setInterval(look, lookMs);
  timer.unref();
  look();
  return () => clearInterval(timer);
}

/** Inside a transaction the count stands still, a closed connection has none, and a wake is not worth an error. */
function dataVersion(handle: () => SqliteHandle): number | undefined {
  try {
    const connection = handle();
    if (!connection.open || connection.memory || connection.inTransaction) return undefined;
    // Without WAL the look needs a lock, for which it must not wait.
    return withBusyTimeout(connection, 0, () =>
      Number(connection.prepare('PRAGMA data_version').get()?.['data_version']),
    );
  } catch {
    return undefined;
  }
}
