import type { DataSource } from 'typeorm';
import { systemClock } from '../../lib/model/clock.js';
import type { ClaimedJob, NewJob } from '../../lib/model/job.js';
import type { Outcome } from '../../lib/model/outcome.js';
import type { AdministeredStore, ClaimRequest, JobStore, Settlement } from '../../lib/stores/job-store.js';
import { createTypeOrmStore, type TypeOrmStoreSettings } from '../../lib/stores/typeorm/connect.js';
import type { TestDatabase } from './databases.js';
import { QueueRig, type Row } from './queue-rig.js';

/** Stores over one test database, as processes that share it would have them, and a look at its rows. */
export class StoreRig {
  readonly warnings: string[] = [];
  private readonly stores: AdministeredStore[] = [];
  private first: DataSource | undefined;

  constructor(private readonly database: TestDatabase) {}

  /** The app's DataSource, opened on demand. */
  async dataSource(): Promise<DataSource> {
    this.first ??= await this.database.connect();
    return this.first;
  }

  /** A store over the app's DataSource. */
  async open(settings: Partial<TypeOrmStoreSettings> = {}): Promise<AdministeredStore> {
    return this.openOn(await this.dataSource(), settings);
  }

  /** A store over a DataSource of its own, as another process has it; a database in memory has only the one. */
  async openAnother(settings: Partial<TypeOrmStoreSettings> = {}): Promise<AdministeredStore> {
    const isAlone = this.database.name === 'sqlite-memory';
    return this.openOn(isAlone ? await this.dataSource() : await this.database.connect(), settings);
  }

  async openOn(dataSource: DataSource, settings: Partial<TypeOrmStoreSettings> = {}): Promise<AdministeredStore> {
    const store = this.make(dataSource, settings);
    await store.open();
    return store;
  }

  /** A store that is not open yet. */
  make(dataSource: DataSource, settings: Partial<TypeOrmStoreSettings> = {}): AdministeredStore {
    const store = createTypeOrmStore(dataSource, {
      tableName: 'rws_jobs',
      schema: 'auto',
      transactionWaitMs: 5_000,
      connections: 2,
      notify: true,
      clock: systemClock,
      warn: (message) => this.warnings.push(message),
      ...settings,
    });
    this.stores.push(store);
    return store;
  }

  async rows(where?: string): Promise<readonly Row[]> {
    return new QueueRig(await this.dataSource()).rows(where);
  }

  async row(where?: string): Promise<Row> {
    return new QueueRig(await this.dataSource()).row(where);
  }

  /** Changes rows by hand, as an operator would. */
  async set(assignment: string, where?: string): Promise<void> {
    await new QueueRig(await this.dataSource()).set(assignment, where);
  }

  /** Closes the stores, then the DataSources, and removes all tables. */
  async clear(): Promise<void> {
    await this.close();
    await this.database.clear();
  }

  /** The same, except that the job tables stay, empty: for suites that change no table of ours. */
  async empty(): Promise<void> {
    await this.close();
    await this.database.empty();
  }

  private async close(): Promise<void> {
    await Promise.all(this.stores.splice(0).map((store) => store.close()));
    this.first = undefined;
    this.warnings.length = 0;
  }
}

/** Claims jobs; say only what matters. */
export async function claim(store: JobStore, given: Partial<ClaimRequest> = {}): Promise<readonly ClaimedJob[]> {
  const request = { types: ['work'], limit: 10, owner: 'ada', leaseMs: 600_000, ...given };
  const result = await store.exchange({ settle: [], claim: request });
  return result.claimed;
}

/** Stores one job and claims it. */
export async function claimed(store: JobStore, job: NewJob, given: Partial<ClaimRequest> = {}): Promise<ClaimedJob> {
  await store.insert([job]);
  const [found] = await claim(store, { types: [job.type], ...given });
  if (found === undefined) throw new Error('there was nothing to claim');
  return found;
}

export function settlement({ id, token }: ClaimedJob, outcome: Outcome = { kind: 'completed' }): Settlement {
  return { id, token, outcome };
}

/** Settles one job; the answer tells whether the claim was lost. */
export async function settle(store: JobStore, job: ClaimedJob, outcome?: Outcome): Promise<'settled' | 'lost'> {
  const { lost } = await store.exchange({ settle: [settlement(job, outcome)], claim: undefined });
  return lost.length === 0 ? 'settled' : 'lost';
}
