import { setTimeout as pause } from 'node:timers/promises';
import { GroupCommit } from '../group-commit.mjs';
import { libraryCopy } from '../library-copy.mjs';
import { withMysql } from '../servers/mysql.mjs';
import { mysqlStorage } from '../storages/mysql-storage.mjs';
import { narrowTable, wideTable } from './raw-mysql-tables.mjs';

const mysql = libraryCopy('mysql2/promise');

/**
 * The limit of the server for this shape: SQL by hand, nothing of a queue around it.
 *
 * @param {string} id
 * @param {{ batch: number, isNarrow?: boolean }} shape
 */
export function rawMysql(id, { batch, isNarrow = false }) {
  const table = isNarrow ? narrowTable : wideTable;
  const open = (run) => openSession({ url: storage.url, run, batch, table });
  const storage = mysqlStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => open(async () => {}),
    migrate: (url) => withMysql((connection) => connection.query(table.schema), url),
  });
  return {
    ...storage,
    id,
    name: `raw SQL${isNarrow ? ' on a narrow table' : ''}, ${batch} a batch`,
    setting: `one transaction, in two trips, that deletes the finished and claims the next; ${table.described}`,
    open,
  };
}

async function openSession({ url, run, batch, table }) {
  const options = { uri: url, multipleStatements: true };
  const [client, producer] = await Promise.all([mysql.createConnection(options), mysql.createConnection(options)]);
  await client.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
  const insertAll = (payloads) => producer.query(...table.insert(payloads));
  const commit = new GroupCommit(insertAll);
  let isOn = true;
  let working = Promise.resolve();

  async function work() {
    let finished = [];
    while (isOn || finished.length > 0) {
      const rows = await exchange(client, table, { finished, batch: isOn ? batch : 0 });
      await Promise.all(rows.map(({ payload }) => run(JSON.parse(payload))));
      if (rows.length === 0 && finished.length === 0) await pause(20);
      finished = rows;
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
      await Promise.all([client.end(), producer.end()]);
    },
  };
}

/** Two trips: what is finished goes and what is due is locked; what was locked is marked and committed. */
async function exchange(client, table, { finished, batch }) {
  const remove = finished.length === 0 ? '' : `${table.remove(finished)};`;
  const [results] = await client.query(`START TRANSACTION; ${remove} ${table.lock(batch)}`);
  const rows = results.at(-1);
  const mark = rows.length === 0 ? '' : `${table.mark(rows)};`;
  await client.query(`${mark} COMMIT`);
  return rows;
}
