import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import type { ChaosServer } from './server.js';

/** A database on a server that others use too: it is not restarted. */
export async function sharedServer(url: string): Promise<ChaosServer> {
  const name = `chaos_${randomBytes(6).toString('hex')}`;
  await tell(url, `CREATE DATABASE ${name}`);
  const port = Number(new URL(url).port) || 3_306;
  return {
    title: `mysql at port ${port}, which others use: no restarts`,
    port,
    power: undefined,
    options: (proxyPort) => {
      const place = new URL(url);
      place.pathname = `/${name}`;
      place.hostname = '127.0.0.1';
      place.port = String(proxyPort ?? port);
      return { type: 'mysql', url: place.href };
    },
    close: () => tell(url, `DROP DATABASE ${name}`),
  };
}

async function tell(url: string, statement: string): Promise<void> {
  const dataSource = new DataSource({ type: 'mysql', url });
  await dataSource.initialize();
  await dataSource.query(statement);
  await dataSource.destroy();
}
