import type { DataSource } from 'typeorm';
import type { PersistentQueueOptions } from '../../lib/model/queue-options.js';
import { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { RecordingSink } from './recording-sink.js';

/** Options under which tests are quick; the table is the default one, since every test database is its own. */
export const quickOptions: PersistentQueueOptions = {
  pollInterval: 20,
  backoff: { initial: 1, max: 20 },
  shutdownTimeout: 2_000,
};

/** A job row as the test database shows it; numbers are numbers whatever the driver says. */
export interface Row {
  readonly id: string;
  readonly job_type: string;
  readonly payload: string;
  readonly status: string;
  readonly attempts: number;
  readonly max_retries: number;
  readonly next_run_at: number;
  readonly created_at: number;
  readonly last_error: string | null;
  readonly interruptions: number;
  readonly claim_token: string | null;
  readonly claimed_by: string | null;
  readonly lease_until: number | null;
  readonly finished_at: number | null;
  readonly keep_until: number | null;
  readonly result: string | null;
  readonly history: string | null;
}

const numberColumns = [
  'attempts',
  'max_retries',
  'next_run_at',
  'created_at',
  'interruptions',
  'lease_until',
  'finished_at',
  'keep_until',
];

/** Queues over one test database, and a look at their rows. Closes the queues that it made. */
export class QueueRig {
  readonly sink = new RecordingSink();
  private readonly queues: PersistentJobQueue[] = [];

  constructor(
    readonly dataSource: DataSource,
    private readonly table = 'rws_jobs',
  ) {}

  async queue(options: PersistentQueueOptions = {}): Promise<PersistentJobQueue> {
    const queue = await PersistentJobQueue.create(
      this.dataSource,
      { ...quickOptions, ...options },
      { sink: this.sink },
    );
    this.queues.push(queue);
    return queue;
  }

  async rows(where = '1 = 1'): Promise<readonly Row[]> {
    const found: unknown = await this.dataSource.query(
      `SELECT * FROM ${this.table} WHERE ${where} ORDER BY next_run_at, id`,
    );
    return (found as readonly Record<string, unknown>[]).map(toRow);
  }

  /** @throws Error unless there is just one row. */
  async row(where = '1 = 1'): Promise<Row> {
    const [row, ...others] = await this.rows(where);
    if (row === undefined || others.length > 0)
      throw new Error(`expected one row where ${where}, found ${others.length}`);
    return row;
  }

  /** Changes rows by hand, as an operator would. */
  async set(assignment: string, where = '1 = 1'): Promise<void> {
    await this.dataSource.query(`UPDATE ${this.table} SET ${assignment} WHERE ${where}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.queues.splice(0).map((queue) => queue.close()));
  }
}

function toRow(found: Record<string, unknown>): Row {
  const numbers = numberColumns.map(
    (column) => [column, found[column] === null ? null : Number(found[column])] as const,
  );
  return { ...found, ...Object.fromEntries(numbers) } as unknown as Row;
}
