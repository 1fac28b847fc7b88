/**
 * Run by sqlite-busy.spec.ts, several at once on one file: enqueues its share of the jobs and works whatever is there until it is told
 * to end. Prints `ran <payload>` for each job, what went wrong, and how long its event loop stood still.
 */
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import { LagProbe } from '../../support/lag-probe.js';

const name = process.env['NAME'] ?? '';
const jobs = Number(process.env['JOBS']);
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const fault = (message: string): void => print(`fault ${message}`);
for (const kind of ['unhandledRejection', 'uncaughtException']) {
  process.on(kind, (reason: unknown) => fault(`${kind}: ${String(reason)}`));
}

const dataSource = new DataSource(JSON.parse(process.env['DATA_SOURCE'] ?? '') as DataSourceOptions);
await dataSource.initialize();
const sink = { debug: () => undefined, log: () => undefined, warn: fault, error: fault };
const queue = await PersistentJobQueue.create(dataSource, { workers: 4, pollInterval: 20 }, { sink });
const probe = new LagProbe();
queue.register('crowd', (payload: unknown) => print(`ran ${String(payload)}`));
await queue.start();
const enqueued = Array.from({ length: jobs }, (_, index) => queue.enqueue('crowd', `${name}-${index + 1}`));
await Promise.all(enqueued).catch((error: unknown) => fault(`enqueue: ${String(error)}`));
print('has enqueued');

await new Promise((resolve) => process.once('SIGTERM', resolve));
await queue.close();
print(`lag ${Math.round(probe.stop())}`);
await dataSource.destroy();
