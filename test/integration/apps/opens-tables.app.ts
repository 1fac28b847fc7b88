/**
 * One of several processes that all open the same job tables at the same moments. TABLES names them; the first moment stands in the file
 * START_FILE once all processes have said that they are ready.
 */
import { existsSync, readFileSync } from 'node:fs';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { systemClock } from '../../../lib/model/clock.js';
import { createTypeOrmStore } from '../../../lib/stores/typeorm/connect.js';
import { until } from '../../support/until.js';

const { DATA_SOURCE = '', TABLES = '', START_FILE = '' } = process.env;
const betweenMs = 250;

const dataSource = new DataSource(JSON.parse(DATA_SOURCE) as DataSourceOptions);
await dataSource.initialize();
console.log('ready');
await until(() => existsSync(START_FILE));
const firstAt = Number(readFileSync(START_FILE, 'utf8'));
for (const [round, tableName] of TABLES.split(',').entries()) {
  const store = createTypeOrmStore(dataSource, {
    tableName,
    schema: 'auto',
    transactionWaitMs: 5_000,
    connections: 1,
    notify: false,
    clock: systemClock,
    warn: () => undefined,
  });
  const at = firstAt + round * betweenMs;
  await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
  await store.open();
  await store.close();
}
await dataSource.destroy();
