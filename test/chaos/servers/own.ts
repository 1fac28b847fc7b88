import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { freePort } from '../../support/own-server.js';
import { mariadbEngine, postgresEngine, type ServerEngine } from '../../support/server-engines.js';
import { until } from '../../support/until.js';
import type { ChaosServer, ServerPower } from './server.js';

/** What makes a server of this kind end without tidying up, and the file with the number of its process. */
const deaths = {
  postgres: { signal: 'SIGQUIT', file: 'postmaster.pid' },
  mysql: { signal: 'SIGKILL', file: 'pid' },
} as const;

/** A server of our own at default durability. */
export async function ownServer(type: 'postgres' | 'mysql'): Promise<ChaosServer> {
  // Not below a folder of ours: as root it runs as a user of its own, who has to reach it.
  const folder = await mkdtemp(join(tmpdir(), `nestjs-jobs-chaos-${type}-`));
  await chmod(folder, 0o755);
  const place = { folder: join(folder, 'data'), port: await freePort() };
  const engine = type === 'postgres' ? postgresEngine(place) : mariadbEngine(place);
  await engine.initialise();
  const pidFile = join(place.folder, deaths[type].file);
  const power = powerOf(engine, () => crash(pidFile, deaths[type].signal));
  const abandon = (): void => kill(pidFile, deaths[type].signal);
  process.once('exit', abandon);
  await power.start();
  return {
    title: `${type} (a server of its own)`,
    port: place.port,
    power,
    options: (proxyPort) => through(engine.options, proxyPort),
    close: async () => {
      process.off('exit', abandon);
      await engine.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function powerOf(engine: ServerEngine, crashNow: () => Promise<void>): ServerPower {
  return {
    stop: () => engine.stop(),
    crash: crashNow,
    start: async () => {
      await engine.start();
      await until(() => answers(engine.options), { what: 'an answer of the server', within: 60_000 });
    },
  };
}

async function answers(options: DataSourceOptions): Promise<boolean> {
  const dataSource = new DataSource(options);
  try {
    await dataSource.initialize();
    await dataSource.destroy();
    return true;
  } catch {
    return false;
  }
}

function through(options: DataSourceOptions, port: number | undefined): DataSourceOptions {
  if (port === undefined || !('url' in options)) return options;
  const url = new URL(String(options.url));
  url.port = String(port);
  return Object.assign({}, options, { url: url.href });
}

async function crash(pidFile: string, signal: NodeJS.Signals): Promise<void> {
  const pid = pidIn(pidFile);
  process.kill(pid, signal);
  await until(() => hasEnded(pid), { what: 'the end of the server' });
}

/** For the end of this process, when nobody stops the server any more. */
function kill(pidFile: string, signal: NodeJS.Signals): void {
  try {
    process.kill(pidIn(pidFile), signal);
  } catch {
    // It has ended already.
  }
}

function pidIn(file: string): number {
  const [line = ''] = readFileSync(file, 'utf8').split('\n');
  return Number(line);
}

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
