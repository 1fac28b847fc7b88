import { randomBytes } from 'node:crypto';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { ChaosServer } from './server.js';

/** A database on a server that others use too: it is not restarted. */
export async function sharedServer(type: 'postgres' | 'mysql', url: string): Promise<ChaosServer> {
  const name = `chaos_${randomBytes(6).toString('hex')}`;
  await tell({ type, url }, `CREATE DATABASE ${name}`);
  const port = Number(new URL(url).port) || (type === 'postgres' ? 5_432 : 3_306);
  return {
    title: `${type} at port ${port}, which others use: no restarts`,
    port,
    power: undefined,
    options: (proxyPort) => {
      const place = new URL(url);
      place.pathname = `/${name}`;
      place.hostname = '127.0.0.1';
      place.port = String(proxyPort ?? port);
      return { type, url: place.href };
    },
    close: () => tell({ type, url }, `DROP DATABASE ${name}${type === 'postgres' ? ' WITH (FORCE)' : ''}`),
  };
}

async function tell(options: DataSourceOptions, statement: string): Promise<void> {
  const dataSource = new DataSource(options);
  await dataSource.initialize();
  await dataSource.query(statement);
  await dataSource.destroy();
}
