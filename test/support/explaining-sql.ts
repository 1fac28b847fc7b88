import type { DataSource } from 'typeorm';
import type { AdminSql } from '../../lib/stores/typeorm/admin/admin-sql.js';
import { MysqlAdmin } from '../../lib/stores/typeorm/dialects/mysql-admin.js';
import type { MysqlConnections } from '../../lib/stores/typeorm/dialects/mysql-pool.js';
import { PostgresAdmin } from '../../lib/stores/typeorm/dialects/postgres-admin.js';
import { SqliteAdmin } from '../../lib/stores/typeorm/dialects/sqlite-admin.js';
import type { SqliteGate } from '../../lib/stores/typeorm/dialects/sqlite-gate.js';
import type { SqliteHandle } from '../../lib/stores/typeorm/dialects/sqlite-handle.js';
import type { TestDatabase } from './databases.js';

/** The statements of a database, of which it only says how it would run them. */
export function explainingSql(database: TestDatabase, dataSource: DataSource): AdminSql {
  return explaining[database.isSqlite ? 'sqlite' : (database.name as 'postgres' | 'mysql')](dataSource);
}

const tables = {
  table: 'rws_jobs',
  slots: 'rws_jobs_slots',
  statistics: 'rws_jobs_statistics',
  batches: 'rws_jobs_batches',
  schedules: 'rws_jobs_schedules',
};

const explaining: Readonly<Record<'postgres' | 'mysql' | 'sqlite', (dataSource: DataSource) => AdminSql>> = {
  postgres: (dataSource) =>
    new PostgresAdmin({
      names: () => tables,
      run: async ({ text, values }) => ({
        rows: await dataSource.query(`EXPLAIN ${text}`, [...values]),
        rowCount: null,
      }),
      channel: () => undefined,
    }),
  mysql: (dataSource) => {
    const connection = {
      execute: (
        { sql, values }: { readonly sql: string; readonly values: readonly unknown[] },
        answered: (error: unknown, rows: unknown) => void,
      ) => {
        void dataSource
          .query(`EXPLAIN ${sql}`, [...values])
          .then((rows: unknown) => answered(null, rows))
          .catch((error: unknown) => answered(error, undefined));
      },
    };
    const connections = { use: (run: (one: unknown) => unknown) => run(connection) } as unknown as MysqlConnections;
    return new MysqlAdmin({
      names: tables,
      connections: () => connections,
      checkPayload: () => undefined,
    });
  },
  sqlite: (dataSource) => {
    const handle = Reflect.get(dataSource.driver, 'databaseConnection') as SqliteHandle;
    const prepare = (text: string) => handle.prepare(`EXPLAIN QUERY PLAN ${text}`);
    const gate = { run: async (block: (one: unknown) => unknown) => block({ prepare }) } as unknown as SqliteGate;
    return new SqliteAdmin({ names: tables, gate, now: () => Date.now() });
  },
};
