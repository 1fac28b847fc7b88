import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import { until } from '../../support/until.js';
import { freePort } from './free-port.js';
import type { ChaosServer } from './server.js';

const run = promisify(execFile);

/** Where this program is; `undefined` where it is not installed. */
function find(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A MariaDB of our own at default durability; `undefined` where none is installed. */
export async function ownMariadb(folder: string): Promise<ChaosServer | undefined> {
  const program = find('mariadbd');
  const installer = find('mariadb-install-db');
  if (program === undefined || installer === undefined) return undefined;
  const data = join(folder, 'mariadb');
  const server = new MariadbServer(program, data, await freePort());
  await server.install(installer);
  await server.start();
  const { port } = server;
  return {
    title: 'MariaDB (a server of its own)',
    port,
    power: server,
    options: (proxyPort) => ({ type: 'mysql', url: `mysql://root@127.0.0.1:${proxyPort ?? port}/chaos` }),
    close: async () => {
      await server.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

class MariadbServer {
  private process: ChildProcess | undefined;
  private readonly asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];

  constructor(
    private readonly program: string,
    private readonly folder: string,
    readonly port: number,
  ) {}

  async install(installer: string): Promise<void> {
    const login = '--auth-root-authentication-method=normal';
    await run(installer, ['--no-defaults', ...this.asRoot, `--datadir=${this.folder}`, login, '--skip-test-db']);
  }

  async start(): Promise<void> {
    const files = [`--datadir=${this.folder}`, `--socket=${join(this.folder, 'socket')}`];
    const network = [`--port=${this.port}`, '--bind-address=127.0.0.1', '--skip-name-resolve'];
    const args = ['--no-defaults', ...this.asRoot, ...files, ...network];
    this.process = spawn(this.program, args, { stdio: 'ignore' });
    await until(() => this.answers(), { what: 'MariaDB', within: 60_000 });
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  crash(): Promise<void> {
    return this.end('SIGKILL');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((resolve) => this.process?.once('exit', resolve));
    this.process?.kill(signal);
    await ended;
  }

  private async answers(): Promise<boolean> {
    const dataSource = new DataSource({ type: 'mysql', host: '127.0.0.1', port: this.port, username: 'root' });
    try {
      await dataSource.initialize();
      await dataSource.query('CREATE DATABASE IF NOT EXISTS chaos');
      await dataSource.destroy();
      return true;
    } catch {
      return false;
    }
  }
}
