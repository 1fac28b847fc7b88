/**
 * One of several processes that enqueue the same keys at the same moments. It begins a round when the file `<GATES>/<round>` is there, and prints
 * for each round how many of its jobs were stored.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { EnqueueResult } from '../../../lib/model/enqueue-result.js';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';

const { DATA_SOURCE = '', GATES = '', ROUNDS = '', KEYS = '' } = process.env;
const keys = KEYS.split(',');

/** As an app has to do: whom the database sacrifices to end a deadlock begins again. */
async function repeated<T>(transaction: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!/deadlock/i.test(String(error))) throw error;
      console.log('a transaction is repeated');
    }
  }
}

const dataSource = await new DataSource(JSON.parse(DATA_SOURCE) as DataSourceOptions).initialize();
const queue = await PersistentJobQueue.create(dataSource);
console.log('ready');
for (let round = 0; round < Number(ROUNDS); round += 1) {
  while (!existsSync(join(GATES, String(round)))) await setTimeout(2);
  const bulk = await queue.tryEnqueueMany(keys.map((uniqueKey) => ({ type: 'work', payload: round, uniqueKey })));
  const [few, many] = [keys.slice(0, 10), keys.slice(10)];
  const singles = await Promise.all(
    few.map((uniqueKey) => queue.tryEnqueue('work', round, { uniqueKey, onDuplicate: 'replace' })),
  );
  const joined = await repeated(() =>
    dataSource.transaction(async (manager) => {
      const results: EnqueueResult[] = [];
      for (const uniqueKey of many) results.push(await queue.tryEnqueue('work', round, { uniqueKey, manager }));
      return results;
    }),
  );
  const stored = [...bulk, ...singles, ...joined].filter(({ outcome }) => outcome === 'stored');
  console.log(`round ${round}: ${stored.length} stored`);
}
await queue.close();
await dataSource.destroy();
