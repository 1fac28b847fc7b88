import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { libraryCopy } from '../library-copy.mjs';

const Database = libraryCopy('better-sqlite3');

const folder = process.env.SQLITE_FOLDER ?? join(tmpdir(), 'nestjs-jobs-bench');

export function sqliteFile(name) {
  return join(folder, `${name}.sqlite`);
}

/** Write-ahead log, and `synchronous` as SQLite has it by default; the driver would weaken it to NORMAL. */
export function prepareDatabase(database) {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
}

/** @returns {Database.Database} */
export function openSqlite(file) {
  const database = new Database(file, { timeout: 5_000 });
  prepareDatabase(database);
  return database;
}

export async function freshFile(file) {
  await mkdir(dirname(file), { recursive: true });
  await removeFile(file);
  openSqlite(file).close();
}

export async function removeFile(file) {
  for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
}

/** Brings a seeded file into the state in which every measurement starts. */
export function settleFile(file) {
  const database = openSqlite(file);
  database.exec('ANALYZE');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** What the report says about it. */
export function describeSqlite() {
  const database = new Database(':memory:');
  const { version } = database.prepare('SELECT sqlite_version() AS version').get();
  database.close();
  return { name: 'SQLite', version, settings: { journal_mode: 'WAL', synchronous: 'FULL' } };
}
