import { readFile } from 'node:fs/promises';
import { cpus, platform, release, totalmem } from 'node:os';
import { describeMysql } from './servers/mysql.mjs';
import { describePostgres } from './servers/postgres.mjs';
import { describeRedis } from './servers/redis.mjs';
import { describeSqlite } from './servers/sqlite.mjs';

const describers = {
  postgres: describePostgres,
  mysql: describeMysql,
  sqlite: async () => describeSqlite(),
  redis: describeRedis,
};
const peers = ['graphile-worker', 'pg-boss', 'bullmq', 'ioredis', 'fastq', 'p-queue'];
const drivers = ['typeorm', 'pg', 'mysql2', 'better-sqlite3'];

/** What has to be known of a machine to make sense of figures from it. */
export async function describeMachine() {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}

/** Versions of what is measured, as installed. */
export async function describeVersions() {
  const own = await readPackage('../../package.json');
  const found = [own];
  for (const name of peers) found.push(await readPackage(`../node_modules/${name}/package.json`));
  for (const name of drivers) found.push(await readPackage(`../../node_modules/${name}/package.json`));
  return Object.fromEntries(found.map(({ name, version }) => [name, version]));
}

async function readPackage(path) {
  return JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8'));
}

/**
 * Asks all servers who they are.
 *
 * @param {(line: string) => void} say Hears which ones do not answer.
 * @throws when one of them runs with weaker promises than by default
 */
export async function findServers(say) {
  const servers = [];
  for (const [id, describe] of Object.entries(describers)) {
    try {
      servers.push({ id, ...(await describe()) });
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      say(`${id} does not answer (${error.code ?? error.message}); what needs it is left out`);
    }
  }
  return servers;
}

function isUnreachable(error) {
  return error?.code !== undefined || /closed|connect/i.test(error?.message ?? '');
}
