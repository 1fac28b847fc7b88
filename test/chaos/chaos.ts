import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { DataSource } from 'typeorm';
import { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { killChildren } from '../support/child.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';
import { noteLags } from './apps/duty.js';
import { ledgerSink } from './apps/ledger-sink.js';
import { OrderDesk, type Order } from './apps/order-desk.js';
import { audit } from './audit/audit.js';
import { harness } from './audit/disturbances.js';
import { entriesOf, type Evidence, type Problem } from './audit/evidence.js';
import { compileApps } from './crew/compile.js';
import { Crew } from './crew/crew.js';
import { Harmer } from './harm/harmer.js';
import { planHarm } from './harm/plan.js';
import { Ledger } from './ledger/ledger.js';
import { readLedgers } from './ledger/read-ledgers.js';
import type { ChaosOptions } from './options.js';
import { openServer, type ChaosDatabase } from './servers/open-server.js';
import type { ChaosServer } from './servers/server.js';
import { ordersTable, queueOptions } from './terms.js';

/** How long the workers may take to drain what is left once nobody does them harm any more. */
const drainMs = 120_000;

/** How long the processes may take to start, before any harm is done. */
const bootMs = 60_000;

/** What came of a run. */
export interface Verdict {
  readonly server: string;
  readonly evidence: Evidence;
  readonly problems: readonly Problem[];
  /** Where the ledgers are. */
  readonly folder: string;
}

/** One run: starts everything, does harm, lets it drain, and audits. */
export async function runChaos(database: ChaosDatabase, options: ChaosOptions): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'nestjs-jobs-chaos-'));
  const apps = await compileApps(join(folder, 'build'));
  const server = await openServer(database, folder);
  try {
    const { evidence, isDrained } = await rage({ folder, apps, server, options });
    const late: readonly Problem[] = isDrained ? [] : [{ what: `jobs were left after ${drainMs} ms of peace` }];
    return { server: server.title, evidence, problems: [...late, ...audit(evidence)], folder };
  } finally {
    killChildren();
    await server.close();
    await rm(join(folder, 'build'), { recursive: true, force: true });
  }
}

interface Scene {
  readonly folder: string;
  readonly apps: string;
  readonly server: ChaosServer;
  readonly options: ChaosOptions;
}

async function rage({ folder, apps, server, options }: Scene): Promise<{ evidence: Evidence; isDrained: boolean }> {
  const dataSource = new DataSource(server.options(undefined));
  await dataSource.initialize();
  await dataSource.query(`CREATE TABLE ${ordersTable} (order_key VARCHAR(200) NOT NULL PRIMARY KEY)`);
  const ledgers = join(folder, 'ledgers');
  await mkdir(ledgers);
  const ledger = new Ledger(ledgers, harness);
  noteLags(ledger);
  const crew = await Crew.hire(options, { folder: ledgers, apps, server, ledger });
  const { power } = server;
  const reach = { hasNetwork: server.port !== undefined, hasPower: power !== undefined };
  const harmer = new Harmer({ crew, ledger, power, holdLock: (ms) => holdLock(server, ms) });
  crew.start();
  await until(() => isUp(ledgers, crew), { what: 'the crew', within: bootMs });
  await harmer.follow(planHarm(options, reach));
  crew.relieve();
  await crew.dismiss('producer');
  await placeSuicide(dataSource, ledger);
  const rig = new QueueRig(dataSource);
  const isDrained = await drains(rig);
  await crew.dismiss('worker');
  await crew.close();
  const evidence = { entries: readLedgers(ledgers), rows: await rig.rows(), orders: await readOrders(dataSource) };
  await dataSource.destroy();
  return { evidence, isDrained };
}

function isUp(ledgers: string, { members }: Crew): boolean {
  return entriesOf(readLedgers(ledgers), 'up').length >= members.length;
}

/** A job that kills whoever runs it, among innocent ones: nobody else does harm any more, so it has to fail and they must not. */
async function placeSuicide(dataSource: DataSource, ledger: Ledger): Promise<void> {
  const queue = await PersistentJobQueue.create(dataSource, queueOptions, { sink: ledgerSink(ledger) });
  const neighbours = (side: string): Order[] =>
    Array.from({ length: 5 }, (_, index) => ({ key: `${side}-${index}`, kind: 'quick', ms: 0 }));
  const suicide: Order = { key: 'suicide', kind: 'suicide', ms: 0 };
  await new OrderDesk(ledger, dataSource, queue).placeMany([...neighbours('before'), suicide, ...neighbours('behind')]);
  await queue.close();
}

async function drains(rig: QueueRig): Promise<boolean> {
  const isEmpty = async (): Promise<boolean> => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return (await rig.rows("status <> 'failed'")).length === 0;
  };
  try {
    await until(isEmpty, { within: drainMs });
    return true;
  } catch {
    return false;
  }
}

async function readOrders(dataSource: DataSource): Promise<ReadonlySet<string>> {
  const rows = (await dataSource.query(`SELECT order_key FROM ${ordersTable}`)) as { readonly order_key: string }[];
  return new Set(rows.map(({ order_key: key }) => key));
}

async function holdLock(server: ChaosServer, ms: number): Promise<void> {
  const file = new Sqlite(String(server.options(undefined).database), { timeout: 5 });
  try {
    await until(() => locks(file));
    await new Promise((resolve) => setTimeout(resolve, ms));
    file.exec('ROLLBACK');
  } finally {
    file.close();
  }
}

function locks(file: Sqlite.Database): boolean {
  try {
    file.exec('BEGIN IMMEDIATE');
    return true;
  } catch {
    return false;
  }
}
