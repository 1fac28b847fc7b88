/** A process of a chaos run that enqueues jobs and works none. */
import { DataSource } from 'typeorm';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import type { Kind } from '../ledger/fact.js';
import { Random } from '../random.js';
import { queueOptions } from '../terms.js';
import { boot, openLedger, readDuty, terminated } from './duty.js';
import { ledgerSink } from './ledger-sink.js';
import { OrderDesk, type Order } from './order-desk.js';

/** How often each kind comes. The one that kills process after process comes when all harm is done: its neighbours share its fate. */
const kinds: Readonly<Partial<Record<Kind, number>>> = {
  quick: 6_000,
  slow: 500,
  polite: 500,
  flaky: 600,
  doomed: 250,
  blocking: 60,
  timeout: 100,
  parent: 700,
  widow: 400,
  unlucky: 12,
};

/** How long handlers take, milliseconds: usually, and now and then longer than a lease or a shutdown. */
const durations: Readonly<Partial<Record<Kind, readonly [usual: number, rare: number]>>> = {
  slow: [400, 3_500],
  polite: [400, 3_500],
  blocking: [60, 4_000],
};

const duty = readDuty();
const ledger = openLedger(duty);
const random = new Random(duty.seed);
const dataSource = new DataSource(duty.source);
let orders = 0;

function nextOrder(): Order {
  const kind = random.weighted(kinds);
  const [usual, rare] = durations[kind] ?? [0, 0];
  const ms = random.between(0, random.next() < 0.1 ? rare : usual);
  return { key: `${duty.member}.${process.pid}.${++orders}`, kind, ms, ...nextDelay() };
}

function nextDelay(): { readonly delay?: number } {
  return random.next() < 0.1 ? { delay: random.between(1, 2_000) } : {};
}

/** One place in the line of those who enqueue at the same time. */
async function produce(desk: OrderDesk): Promise<void> {
  const way = random.weighted({ plain: 60, many: 5, commit: 20, rollback: 15 });
  if (way === 'many') await desk.placeMany(Array.from({ length: random.between(2, 20) }, nextOrder));
  else await desk.place(nextOrder(), way);
  await new Promise((resolve) => setTimeout(resolve, random.between(0, 250)));
}

const queue = await boot(ledger, async () => {
  await dataSource.initialize();
  return PersistentJobQueue.create(dataSource, queueOptions, { sink: ledgerSink(ledger) });
});
const desk = new OrderDesk(ledger, dataSource, queue);
ledger.write({ fact: 'up' });

let isEnding = false;
const end = terminated().then(() => (isEnding = true));
const line = async (): Promise<void> => {
  while (!isEnding) await produce(desk);
};
await Promise.race([Promise.all(Array.from({ length: 4 }, line)), end]);
ledger.write({ fact: 'stopping' });
await queue.close();
ledger.write({ fact: 'stopped' });
process.exit(0);
