import { countStatements } from '../driver-spy.mjs';
import { libraryCopy } from '../library-copy.mjs';
import { libraryModule } from '../library.mjs';
import { prepareDatabase } from '../servers/sqlite.mjs';
import { mysqlStorage } from '../storages/mysql-storage.mjs';
import { postgresStorage } from '../storages/postgres-storage.mjs';
import { sqliteStorage } from '../storages/sqlite-storage.mjs';

const { PersistentJobQueue } = await libraryModule('index.js');
const { DataSource } = libraryCopy('typeorm');

const storages = { postgres: postgresStorage, mysql: mysqlStorage, sqlite: sqliteStorage };

/** How an app would name the storage to TypeORM. */
const dataSourceOptions = {
  postgres: ({ url }) => ({ type: 'postgres', url }),
  mysql: ({ url }) => ({ type: 'mysql', url }),
  sqlite: ({ file }) => ({ type: 'better-sqlite3', database: file, prepareDatabase }),
};

/** Warnings are of interest, successes are not. */
export const quietSink = { debug() {}, log() {}, warn: console.error, error: console.error };

/** This library with its default options. */
export function ours({ id, server }) {
  const openStorage = (run) => openSession(dataSourceOptions[server](storage), run);
  const storage = storages[server]({
    id,
    unfinished: 'SELECT 1 FROM rws_jobs',
    open: () => openStorage(async () => {}),
    migrate: async () => (await openStorage(async () => {})).close(),
  });
  return {
    ...storage,
    id,
    name: 'nestjs-jobs',
    setting: 'default options',
    open: openStorage,
    countStatements: () => countStatements(server),
    openDataSource: () => openDataSource(dataSourceOptions[server](storage)),
  };
}

function openDataSource(options) {
  return new DataSource({ ...options, entities: [] }).initialize();
}

/**
 * @param {object} options Of TypeORM's DataSource.
 * @param {import('../contestant.mjs').RunJob} run
 */
async function openSession(options, run) {
  const dataSource = await openDataSource(options);
  const queue = await PersistentJobQueue.create(dataSource, {}, { sink: quietSink });
  queue.register('noop', run);
  return {
    enqueue: (payload) => queue.enqueue('noop', payload),
    enqueueMany: (payloads) => queue.enqueueMany(payloads.map((payload) => ({ type: 'noop', payload }))),
    start: () => queue.start(),
    async close() {
      await queue.close();
      await dataSource.destroy();
    },
  };
}
