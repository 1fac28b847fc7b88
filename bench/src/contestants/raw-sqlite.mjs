import { setTimeout as pause } from 'node:timers/promises';
import { GroupCommit } from '../group-commit.mjs';
import { openSqlite } from '../servers/sqlite.mjs';
import { sqliteStorage } from '../storages/sqlite-storage.mjs';

const leaseMs = 30_000;

/** As narrow as a table of jobs can be that survives a crash of its worker. A job without a lease is due or waits. */
const schema = `
  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    payload TEXT NOT NULL,
    run_at INTEGER NOT NULL,
    lease_until INTEGER
  );
  CREATE INDEX jobs_due ON jobs (run_at, id) WHERE lease_until IS NULL`;

/** The limit of SQLite for this shape: SQL by hand on the driver, nothing of a queue around it. */
export function rawSqlite({ batch }) {
  const id = `raw-sqlite-${batch}`;
  const storage = sqliteStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => openSession(storage.file, async () => {}, batch),
    async migrate(file) {
      const database = openSqlite(file);
      database.exec(schema);
      database.close();
    },
  });
  return {
    id,
    name: `raw SQL, ${batch} a batch`,
    setting: 'one transaction that deletes the finished and claims the next',
    ...storage,
    open: (run) => openSession(storage.file, run, batch),
  };
}

async function openSession(file, run, batch) {
  const database = openSqlite(file);
  const exchange = exchangeOn(database, batch);
  const insert = database.prepare('INSERT INTO jobs (payload, run_at) SELECT value, ? FROM json_each(?) ORDER BY key');
  const insertAll = async (payloads) =>
    insert.run(Date.now(), JSON.stringify(payloads.map((payload) => JSON.stringify(payload))));
  const commit = new GroupCommit(insertAll);
  let isOn = true;
  let working = Promise.resolve();

  async function work() {
    let finished = [];
    while (isOn || finished.length > 0) {
      const rows = exchange(finished);
      await Promise.all(rows.map(({ payload }) => run(JSON.parse(payload))));
      finished = rows.map((row) => row.id);
      if (rows.length === 0) await pause(20);
      else await new Promise((resolve) => setImmediate(resolve));
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
      database.close();
    },
  };
}

function exchangeOn(database, batch) {
  const remove = database.prepare('DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))');
  const claim = database.prepare(
    `UPDATE jobs SET lease_until = ?
     WHERE id IN (SELECT id FROM jobs WHERE lease_until IS NULL AND run_at <= ? ORDER BY run_at, id LIMIT ${batch})
     RETURNING id, payload`,
  );
  const both = database.transaction((finished) => {
    if (finished.length > 0) remove.run(JSON.stringify(finished));
    const now = Date.now();
    return claim.all(now + leaseMs, now);
  });
  return (finished) => both.immediate(finished);
}
