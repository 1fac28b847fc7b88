import type { Database } from 'better-sqlite3';
import { DataSource, type DataSourceOptions } from 'typeorm';

/** One thing that a job has done, as it stands outside of the queue. */
export interface Effect {
  readonly jobId: string;
  readonly jobType: string;
  /** The attempt that did it, as the handler was told. */
  readonly run: number;
  /** `start`, `done`, `aborted: <reason>`, or what a step noted. */
  readonly what: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly pid: number;
}

/**
 * The table in which handlers write down what they do, each line on its own and at once, so that runs are counted outside of the
 * queue. On a connection of its own; on SQLite in a file of its own, since a second connection to the app's file would wait
 * synchronously for whatever is open there.
 */
export class Effects {
  private constructor(private readonly dataSource: DataSource) {}

  static async open(options: DataSourceOptions): Promise<Effects> {
    const dataSource = new DataSource(beside(options));
    await dataSource.initialize();
    return new Effects(dataSource);
  }

  /** To be called once, before anybody writes. */
  async create(): Promise<void> {
    await this.dataSource.query(
      'CREATE TABLE effects (job_id VARCHAR(64) NOT NULL, job_type VARCHAR(100) NOT NULL, run_no INTEGER NOT NULL, ' +
        'what VARCHAR(100) NOT NULL, at BIGINT NOT NULL, pid INTEGER NOT NULL)',
    );
  }

  async add({ jobId, jobType, run, what }: Omit<Effect, 'at' | 'pid'>): Promise<void> {
    const isPostgres = this.dataSource.options.type === 'postgres';
    const places = [1, 2, 3, 4, 5, 6].map((place) => (isPostgres ? `$${place}` : '?'));
    await this.dataSource.query(
      `INSERT INTO effects (job_id, job_type, run_no, what, at, pid) VALUES (${places.join(', ')})`,
      [jobId, jobType, run, what, Date.now(), process.pid],
    );
  }

  /** All of them, in the order of their time. */
  async all(): Promise<readonly Effect[]> {
    const rows: unknown = await this.dataSource.query('SELECT * FROM effects ORDER BY at');
    return (rows as readonly Record<string, unknown>[]).map((row) => ({
      jobId: String(row['job_id']),
      jobType: String(row['job_type']),
      run: Number(row['run_no']),
      what: String(row['what']),
      at: Number(row['at']),
      pid: Number(row['pid']),
    }));
  }

  async close(): Promise<void> {
    await this.dataSource.destroy();
  }
}

function beside(options: DataSourceOptions): DataSourceOptions {
  if (options.type !== 'better-sqlite3') return Object.assign({}, options, { poolSize: 1, extra: {}, logging: false });
  // What was written survives the process all the same, and that is all that dies here.
  const prepareDatabase = (handle: Database): unknown => handle.pragma('synchronous = OFF');
  return Object.assign({}, options, { database: `${options.database}-effects`, prepareDatabase });
}
