import type { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import type { DataSource, EntityManager } from 'typeorm';
import type { Fate, Kind } from '../ledger/fact.js';
import type { Ledger } from '../ledger/ledger.js';
import { ordersTable, sideQueue, terms } from '../terms.js';

/** A job to enqueue. */
export interface Order {
  readonly key: string;
  readonly kind: Kind;
  /** How long its handler takes, milliseconds. */
  readonly ms: number;
  readonly delay?: number;
}

export type OrderPayload = Pick<Order, 'key' | 'kind' | 'ms'>;

class PlannedRollback extends Error {}

/** How many retries each kind has; others as many as the queue says. */
const retries: Readonly<Partial<Record<Kind, number>>> = {
  doomed: terms.doomedRetries,
  timeout: terms.timeoutRetries,
  parent: terms.patientRetries,
  widow: terms.patientRetries,
};

/** Enqueues jobs, by themselves or in transactions, and notes what was promised. */
export class OrderDesk {
  private transaction: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly ledger: Ledger,
    private readonly dataSource: DataSource,
    private readonly queue: PersistentJobQueue,
  ) {}

  /** Resolves when the answer is in the ledger, whatever it was. */
  async place(order: Order, fate: Fate): Promise<void> {
    const { key, kind } = order;
    this.ledger.write({ fact: 'asked', key, kind, fate });
    try {
      const id = await (fate === 'plain' ? this.enqueue(order) : this.together(order, fate));
      this.ledger.writeDurably({ fact: 'acked', key, id });
    } catch (error) {
      if (!(error instanceof PlannedRollback)) this.ledger.write({ fact: 'refused', key, error: String(error) });
    }
  }

  /** Many at once, all or none. */
  async placeMany(orders: readonly Order[]): Promise<void> {
    for (const { key, kind } of orders) this.ledger.write({ fact: 'asked', key, kind, fate: 'plain' });
    try {
      const ids = await this.queue.enqueueMany(orders.map((order) => requestOf(order)));
      for (const [index, id] of ids.entries()) {
        this.ledger.writeDurably({ fact: 'acked', key: orders[index]?.key ?? '', id });
      }
    } catch (error) {
      for (const { key } of orders) this.ledger.write({ fact: 'refused', key, error: String(error) });
    }
  }

  private enqueue(order: Order, manager?: EntityManager): Promise<string> {
    const { type, payload, ...options } = requestOf(order);
    return this.queue.enqueue(type, payload, { ...options, manager });
  }

  private together(order: Order, fate: Fate): Promise<string> {
    return this.inTransaction(async (manager) => {
      const isFirst = order.key.length % 2 === 0;
      if (isFirst) await this.store(order, manager);
      const id = await this.enqueue(order, manager);
      if (!isFirst) await this.store(order, manager);
      if (fate === 'rollback') throw new PlannedRollback();
      return id;
    });
  }

  private store({ key }: Order, manager: EntityManager): Promise<unknown> {
    // A key is made of harmless characters; placeholders differ from driver to driver.
    return manager.query(`INSERT INTO ${ordersTable} (order_key) VALUES ('${key}')`);
  }

  /** SQLite has one connection for the whole app: an app has to queue up its transactions there. */
  private inTransaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const run = (): Promise<T> => this.dataSource.transaction(work);
    if (this.dataSource.options.type !== 'better-sqlite3') return run();
    const mine = this.transaction.then(run);
    this.transaction = mine.catch(() => undefined);
    return mine;
  }
}

function requestOf({ key, kind, ms, delay = 0 }: Order) {
  const payload: OrderPayload = { key, kind, ms };
  return { type: `chaos.${kind}`, payload, delay, maxRetries: retries[kind], ...placeOf(key) };
}

/** Some jobs are more urgent than others, and some wait where others work. */
function placeOf(key: string): { readonly priority?: number; readonly queue?: string } {
  const number = Number(/\d+$/.exec(key)?.[0] ?? 0);
  return { priority: [0, 0, -1, 3][number % 4], ...(number % 5 === 0 ? { queue: sideQueue } : {}) };
}
