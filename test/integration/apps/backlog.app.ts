/**
 * Run by crash-in-backlog.spec.ts: works off a backlog of jobs that take no time, writes the number of each into a file, and kills itself in
 * the middle of the job that is the `KILL_AT`th to run.
 */
import { openSync, writeSync } from 'node:fs';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';

const { DATA_SOURCE = '', RUNS = '', OPTIONS = '{}', KILL_AT = 'Infinity' } = process.env;

const runs = openSync(RUNS, 'a');
const killAt = Number(KILL_AT);
let count = 0;

const dataSource = await new DataSource(JSON.parse(DATA_SOURCE) as DataSourceOptions).initialize();
const queue = await PersistentJobQueue.create(dataSource, {
  pollInterval: 20,
  ...(JSON.parse(OPTIONS) as object),
});
queue.register('count', (payload) => {
  writeSync(runs, `${String(payload)}\n`);
  count += 1;
  if (count < killAt) return;
  process.kill(process.pid, 'SIGKILL');
  for (;;);
});
await queue.start();
