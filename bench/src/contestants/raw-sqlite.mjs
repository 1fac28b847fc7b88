import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises';
import { GroupCommit } from '../group-commit.mjs';
import { openSqlite } from '../servers/sqlite.mjs';
import { sqliteStorage } from '../storages/sqlite-storage.mjs';
import { narrowTable, wideTable } from './raw-sqlite-tables.mjs';

/**
 * The limit of SQLite for this shape: SQL by hand on the driver, nothing of a queue around it.
 *
 * @param {string} id
 * @param {{ batch: number, isNarrow?: boolean }} shape
 */
export function rawSqlite(id, { batch, isNarrow = false }) {
  const table = isNarrow ? narrowTable : wideTable;
  const open = (run) => openSession({ file: storage.file, run, batch, table });
  const storage = sqliteStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => open(async () => {}),
    async migrate(file) {
      const database = openSqlite(file);
      database.exec(table.schema);
      database.close();
    },
  });
  return {
    ...storage,
    id,
    name: `raw SQL${isNarrow ? ' on a narrow table' : ''}, ${batch} a batch`,
    setting: `one transaction that deletes the finished and claims the next; ${table.described}`,
    open,
  };
}

async function openSession({ file, run, batch, table }) {
  const database = openSqlite(file);
  const { insertAll, exchange } = table.prepare(database);
  const commit = new GroupCommit(async (payloads) => insertAll(payloads));
  let isOn = true;
  let working = Promise.resolve();

  async function work() {
    let finished = [];
    while (isOn || finished.length > 0) {
      const rows = exchange(finished, isOn ? batch : 0);
      await Promise.all(rows.map(({ payload }) => run(JSON.parse(payload))));
      if (rows.length === 0 && finished.length === 0) await pause(20);
      else await breathe();
      finished = rows;
    }
  }

  return {
    enqueue: (payload) => commit.add(payload),
    enqueueMany: async (payloads) => insertAll(payloads),
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
