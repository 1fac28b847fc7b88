import { Injectable } from '@nestjs/common';
import { JobHandler, PersistentJobQueue, StoreError, type PersistentQueueOptions } from 'nestjs-jobs';
import { DataSource, type Logger } from 'typeorm';
import { startDatabaseApp } from '../support/database-app.js';
import { forEachDatabase } from '../support/databases.js';
import { closeApps, RecordingLogger } from '../support/jobs-app.js';
import { QueueRig } from '../support/queue-rig.js';
import { SqlFaults } from '../support/sql-faults.js';
import { until } from '../support/until.js';

const secret = 'hunter2-and-more';

/** TypeORM's log of everything, as an app may switch it on. */
class EverythingLogger implements Logger {
  readonly lines: string[] = [];

  logQuery = (query: string, parameters: unknown): void => this.keep(query, parameters);
  logQueryError = (error: unknown, query: string, parameters: unknown): void => this.keep(error, query, parameters);
  logQuerySlow = (time: number, query: string, parameters: unknown): void => this.keep(time, query, parameters);
  logSchemaBuild = (message: string): void => this.keep(message);
  logMigration = (message: string): void => this.keep(message);
  log = (level: string, message: unknown): void => this.keep(level, message);

  private keep(...said: readonly unknown[]): void {
    this.lines.push(said.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' '));
  }
}

@Injectable()
class Hands {
  constructor(private readonly dataSource: DataSource) {}

  @JobHandler('looks for a missing table', { maxRetries: 0 })
  async look(_payload: unknown): Promise<void> {
    await this.dataSource.query('SELECT 1 FROM missing_table');
  }
}

forEachDatabase((database) => {
  let typeOrm: EverythingLogger;
  let nest: RecordingLogger;
  let dataSource: DataSource;
  let faults: SqlFaults;

  beforeEach(() => {
    typeOrm = new EverythingLogger();
    nest = new RecordingLogger();
    faults = new SqlFaults(database);
  });

  afterEach(async () => {
    faults.restore();
    await closeApps();
    await database.clear();
  });

  async function start(persistent: PersistentQueueOptions = {}): Promise<PersistentJobQueue> {
    dataSource = await database.connect({ logging: 'all', logger: typeOrm });
    const app = await startDatabaseApp(dataSource, { providers: [Hands] }, { persistent, logger: nest });
    return app.get(PersistentJobQueue);
  }

  it('an idle app asks once in a poll interval, however many workers it has, and not through the log of the app', async () => {
    const pollInterval = 50;
    await start({ workers: 16, pollInterval });
    const lines = typeOrm.lines.length;
    const since = performance.now();
    faults.watch(/rws_jobs/);

    await until(() => faults.seen >= 20);

    const polls = (performance.now() - since) / (pollInterval * 0.9);
    // Beside the polls: the looks after leases and unknown types, and one round of the clean-up.
    expect(faults.seen).toBeLessThan(polls + 10);
    expect(typeOrm.lines.slice(lines)).toEqual([]);
    expect(nest.lines.filter((line) => line.startsWith('[Jobs] ')).length).toBe(1);
  });

  it('no line of any log holds a payload, whatever goes wrong with the job', async () => {
    const queue = await start();
    await queue.enqueue('looks for a missing table', { secret });
    await dataSource.transaction((manager) => queue.enqueue('looks for a missing table', { secret }, { manager }));
    await queue.enqueue('nobody knows', { secret });
    const rig = new QueueRig(dataSource);
    await until(async () => (await rig.rows("status = 'failed'")).length === 2);

    await until(() => nest.lines.filter((line) => line.includes('failed permanently')).length === 2);
    expect([...nest.lines, ...typeOrm.lines].filter((line) => line.includes(secret))).toEqual([]);
    const errors = (await rig.rows()).map((row) => row.last_error ?? '');
    expect(errors.filter((error) => error.includes(secret))).toEqual([]);
  });

  it('no error of enqueue holds the payload, though that of the driver does', async () => {
    const queue = await start();
    await refuseJobs();

    const error = await queue.enqueue('a', { secret }).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(StoreError);
    expect(`${(error as Error).message} ${(error as Error).stack}`).not.toContain(secret);
    expect([...nest.lines, ...typeOrm.lines].filter((line) => line.includes(secret))).toEqual([]);
  });

  /** Lets the database refuse every job with an error that quotes its payload, where it can do that. */
  async function refuseJobs(): Promise<void> {
    const statements = {
      'sqlite-file': ["CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs BEGIN SELECT RAISE(ABORT, 'refused'); END"],
      'sqlite-memory': ["CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs BEGIN SELECT RAISE(ABORT, 'refused'); END"],
      postgres: [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''%'', NEW.payload; END'",
        'CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs FOR EACH ROW EXECUTE FUNCTION refuse()',
      ],
      mysql: [
        `CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs FOR EACH ROW BEGIN
          DECLARE quoted VARCHAR(128) DEFAULT LEFT(NEW.payload, 128);
          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = quoted;
        END`,
      ],
    };
    for (const statement of statements[database.name]) await dataSource.query(statement);
  }
});
