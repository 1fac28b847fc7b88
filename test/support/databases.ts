import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';

export type DatabaseName = 'sqlite-file' | 'sqlite-memory' | 'postgres' | 'mysql';

export const allDatabases: readonly DatabaseName[] = ['sqlite-file', 'sqlite-memory', 'postgres', 'mysql'];

/** A database of one spec file's own, in which it may do what it likes. */
export interface TestDatabase {
  readonly name: DatabaseName;
  readonly isSqlite: boolean;
  /** What a DataSource of this database needs; plain data, so that child processes can have it too. */
  options(overrides?: object): DataSourceOptions;
  /** Opens one more DataSource; `clear` closes it. */
  connect(overrides?: object): Promise<DataSource>;
  /** Closes the DataSources and removes all tables. */
  clear(): Promise<void>;
  /** The same, except that the job tables stay, empty: for suites that change no table of ours. Making them costs more than most tests. */
  empty(): Promise<void>;
}

/**
 * Runs one suite on every database that is there. One that is missing is reported as skipped, by its name; with
 * JOBS_REQUIRE_DATABASES=1 it is a failure. JOBS_TEST_DATABASES (sqlite, postgres, mysql, comma separated) chooses.
 */
export function forEachDatabase(
  suite: (database: TestDatabase) => void,
  names: readonly DatabaseName[] = allDatabases,
): void {
  for (const name of names) {
    if (!isWanted(name)) describeUnwanted(name);
    else if (urlOf(name) === undefined) describeMissing(name);
    else describePresent(name, suite);
  }
}

function describePresent(name: DatabaseName, suite: (database: TestDatabase) => void): void {
  describe(`on ${name}`, () => {
    const database = new OwnDatabase(name);
    beforeAll(() => database.create());
    suite(database);
    // Jest runs them in the order of their mention: what the suite tidies up comes first.
    afterAll(() => database.drop());
  });
}

function describeMissing(name: DatabaseName): void {
  const variable = name === 'postgres' ? 'POSTGRES_URL' : 'MYSQL_URL';
  // A machine without this database cannot run its suite; the report names it.
  const report = isRequired() ? describe : describe.skip;
  report(`on ${name}`, () => {
    it(`has a server that answers (${variable})`, () => {
      expect(process.env[variable]).toBeDefined();
    });
  });
}

/** Jest takes a file without any test for a mistake, so what was not chosen is skipped and not left out. */
function describeUnwanted(name: DatabaseName): void {
  describe.skip(`on ${name}`, () => {
    it('is chosen by JOBS_TEST_DATABASES', () => undefined);
  });
}

/** Whether the run was asked for this database. */
export function isWanted(name: DatabaseName): boolean {
  const wanted = (process.env['JOBS_TEST_DATABASES'] ?? 'sqlite,postgres,mysql').split(',');
  return wanted.includes(name.replace(/-.*/, ''));
}

/** Whether a database that is missing is a failure, as it is in CI. */
export function isRequired(): boolean {
  return process.env['JOBS_REQUIRE_DATABASES'] === '1';
}

/** The server; for SQLite, where there is none, a text that is never used. */
function urlOf(name: DatabaseName): string | undefined {
  if (name === 'postgres') return process.env['POSTGRES_URL'];
  if (name === 'mysql') return process.env['MYSQL_URL'];
  return name;
}

class OwnDatabase implements TestDatabase {
  private readonly id = `jobs_test_${randomBytes(6).toString('hex')}`;
  private readonly open = new Set<DataSource>();
  private housekeeper: DataSource | undefined;
  private folder = '';
  private files = 0;

  constructor(readonly name: DatabaseName) {}

  get isSqlite(): boolean {
    return this.name.startsWith('sqlite');
  }

  async create(): Promise<void> {
    if (this.name === 'sqlite-file') this.folder = await mkdtemp(join(tmpdir(), 'nestjs-jobs-'));
    if (!this.isSqlite) await this.asAdmin(`CREATE DATABASE ${this.id}`);
  }

  async drop(): Promise<void> {
    await this.close();
    await this.housekeeper?.destroy();
    this.housekeeper = undefined;
    if (this.folder !== '') await rm(this.folder, { recursive: true, force: true });
    if (!this.isSqlite)
      await this.asAdmin(`DROP DATABASE ${this.id}${this.name === 'postgres' ? ' WITH (FORCE)' : ''}`);
  }

  options(overrides: object = {}): DataSourceOptions {
    return { ...this.place(), ...overrides } as DataSourceOptions;
  }

  async connect(overrides: object = {}): Promise<DataSource> {
    const dataSource = new DataSource(this.options(overrides));
    await dataSource.initialize();
    this.open.add(dataSource);
    return dataSource;
  }

  async clear(): Promise<void> {
    await this.close();
    this.files += 1;
    if (this.name === 'postgres') await this.inside(['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public']);
    if (this.name === 'mysql') {
      await this.inside([`DROP DATABASE ${this.id}`, `CREATE DATABASE ${this.id}`]);
    }
  }

  async empty(): Promise<void> {
    if (this.isSqlite) return this.clear();
    await this.close();
    const quoted =
      this.name === 'postgres' ? (name: string) => `"${name}"` : (name: string) => `${this.id}.\`${name}\``;
    await this.inside(
      (await this.tables())
        .filter((table) => table !== 'rws_jobs_schema')
        .map((table) => (isOurs(table) ? 'DELETE FROM ' : 'DROP TABLE ') + quoted(table)),
    );
  }

  private async tables(): Promise<readonly string[]> {
    const schema = this.name === 'postgres' ? "'public'" : `'${this.id}'`;
    const rows: { readonly name: string }[] = await (
      await this.keeper()
    ).query(`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ${schema}`);
    return rows.map(({ name }) => name);
  }

  private place(): object {
    const url = urlOf(this.name) ?? '';
    if (this.name === 'sqlite-memory') return { type: 'better-sqlite3', database: ':memory:' };
    if (this.name === 'sqlite-file') {
      return { type: 'better-sqlite3', database: join(this.folder, `${this.files}.sqlite`), enableWAL: true };
    }
    const own = new URL(url);
    own.pathname = `/${this.id}`;
    return this.name === 'postgres' ? { type: 'postgres', url: own.href } : { type: 'mysql', url: own.href };
  }

  private async close(): Promise<void> {
    const open = [...this.open].filter(({ isInitialized }) => isInitialized);
    this.open.clear();
    await Promise.all(open.map((dataSource) => dataSource.destroy()));
  }

  private async inside(statements: readonly string[]): Promise<void> {
    const keeper = await this.keeper();
    for (const statement of statements) await keeper.query(statement);
  }

  /** One connection for all that happens between tests; where it can be, not in this database, since tests count those who are. */
  private async keeper(): Promise<DataSource> {
    this.housekeeper ??= await (
      this.name === 'postgres' ? new DataSource(this.options({ poolSize: 1 })) : this.admin()
    ).initialize();
    return this.housekeeper;
  }

  private admin(): DataSource {
    const type = this.name === 'postgres' ? 'postgres' : 'mysql';
    return new DataSource({ type, url: urlOf(this.name) ?? '', poolSize: 1 });
  }

  private async asAdmin(statement: string): Promise<void> {
    const dataSource = await this.admin().initialize();
    await dataSource.query(statement);
    await dataSource.destroy();
  }
}

/** Of the default name, and made by the library alone. */
function isOurs(table: string): boolean {
  return /^rws_jobs(_[a-z]+)?$/.test(table);
}
