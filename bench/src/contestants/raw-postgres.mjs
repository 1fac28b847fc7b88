import { setTimeout as pause } from 'node:timers/promises';
import { GroupCommit } from '../group-commit.mjs';
import { libraryCopy } from '../library-copy.mjs';
import { withPostgres } from '../servers/postgres.mjs';
import { postgresStorage } from '../storages/postgres-storage.mjs';
import { narrowTable, wideTable } from './raw-postgres-tables.mjs';

const pg = libraryCopy('pg');

/**
 * The limit of the server for this shape: SQL by hand, nothing of a queue around it.
 *
 * @param {string} id
 * @param {{ batch: number, lanes?: number, isNarrow?: boolean }} shape `lanes` connections work beside each other.
 */
export function rawPostgres(id, { batch, lanes = 1, isNarrow = false }) {
  const table = isNarrow ? narrowTable : wideTable;
  const open = (run) => openSession({ url: storage.url, run, batch, lanes, table });
  const storage = postgresStorage({
    id,
    unfinished: 'SELECT 1 FROM jobs',
    open: () => open(async () => {}),
    migrate: (url) => withPostgres((client) => client.query(table.schema), url),
  });
  const shape = lanes === 1 ? `${batch} a batch` : `${lanes} × ${batch} a batch`;
  return {
    ...storage,
    id,
    name: `raw SQL${isNarrow ? ' on a narrow table' : ''}, ${shape}`,
    setting: `one statement that deletes the finished and claims the next; ${table.described}`,
    open,
  };
}

async function openSession({ url, run, batch, lanes, table }) {
  const producer = await connect(url);
  const workers = await Promise.all(Array.from({ length: lanes }, () => connect(url)));
  const insertAll = (payloads) => producer.query({ ...table.insert, values: table.insertValues(payloads) });
  const commit = new GroupCommit(insertAll);
  const lane = { batch, run, table, isOn: true };
  let working = Promise.resolve();
  return {
    enqueue: (payload) => commit.add(payload),
    enqueueMany: insertAll,
    start() {
      working = Promise.all(workers.map((client) => work(client, lane)));
    },
    async close() {
      lane.isOn = false;
      await working;
      for (const client of [...workers, producer]) await client.end();
    },
  };
}

async function work(client, lane) {
  let finished = [];
  while (lane.isOn || finished.length > 0) {
    const { batch, run, table } = lane;
    const { rows } = await client.query({
      ...table.exchange,
      values: [...table.finishedValues(finished), lane.isOn ? batch : 0],
    });
    await Promise.all(rows.map(({ payload }) => run(JSON.parse(payload))));
    if (rows.length === 0 && finished.length === 0) await pause(20);
    finished = rows;
  }
}

async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
