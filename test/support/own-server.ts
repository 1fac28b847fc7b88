import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { TestDatabase } from './databases.js';
import { mariadbEngine, postgresEngine, type ServerEngine } from './server-engines.js';
import { until } from './until.js';

/**
 * A database server of a test's own, which it may stop and start again. While it is stopped, a watchman at its port counts those who
 * knock.
 */
export class OwnServer implements TestDatabase {
  readonly isSqlite = false;
  /** Connections that were tried while the server was stopped. */
  knocks = 0;
  private watchman: Server | undefined;
  private readonly open = new Set<DataSource>();

  private constructor(
    readonly name: 'postgres' | 'mysql',
    private readonly engine: ServerEngine,
    private readonly folder: string,
    private readonly port: number,
  ) {}

  /** Makes one that runs. */
  static async create(name: 'postgres' | 'mysql'): Promise<OwnServer> {
    const folder = await mkdtemp(join(tmpdir(), `nestjs-jobs-${name}-`));
    const port = await freePort();
    const place = { folder: join(folder, 'data'), port };
    await chmod(folder, 0o755);
    const engine = name === 'postgres' ? postgresEngine(place) : mariadbEngine(place);
    await engine.initialise();
    const server = new OwnServer(name, engine, folder, port);
    await server.start();
    return server;
  }

  options(overrides: object = {}): DataSourceOptions {
    return Object.assign({}, this.engine.options, overrides);
  }

  async connect(overrides: object = {}): Promise<DataSource> {
    const dataSource = new DataSource(this.options(overrides));
    await dataSource.initialize();
    this.open.add(dataSource);
    return dataSource;
  }

  async clear(): Promise<void> {
    await Promise.all([...this.open].map((dataSource) => dataSource.destroy()));
    this.open.clear();
  }

  empty(): Promise<void> {
    return this.clear();
  }

  async start(): Promise<void> {
    await this.dismissWatchman();
    await this.engine.start();
    await until(() => this.answers(), { what: 'an answer of the server', within: 60_000 });
  }

  async stop(): Promise<void> {
    await this.engine.stop();
    this.watchman = createServer((socket: Socket) => {
      this.knocks += 1;
      socket.on('error', () => undefined).destroy();
    });
    this.watchman.listen(this.port, '127.0.0.1');
    await once(this.watchman, 'listening');
  }

  /** Stops it and removes all that is its own. */
  async remove(): Promise<void> {
    await this.clear();
    await this.engine.stop();
    await this.dismissWatchman();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async dismissWatchman(): Promise<void> {
    const { watchman } = this;
    this.watchman = undefined;
    if (watchman === undefined) return;
    watchman.close();
    await once(watchman, 'close');
  }

  private async answers(): Promise<boolean> {
    const dataSource = new DataSource(this.options());
    try {
      await dataSource.initialize();
      await dataSource.destroy();
      return true;
    } catch {
      return false;
    }
  }
}

/** A port that nobody listens on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
