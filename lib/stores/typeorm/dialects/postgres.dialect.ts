import type { DataSource, QueryRunner } from 'typeorm';
import type { Clock } from '../../../model/clock.js';
import type { EnqueueResult } from '../../../model/enqueue-result.js';
import type { JobTransaction } from '../../../model/job-transaction.js';
import type { Lease, NewJob } from '../../../model/job.js';
import type {
  ExchangeRequest,
  ExchangeResult,
  ForeignClaims,
  JobNote,
  JobWrite,
  LimitedClaimRequest,
  LimitedClaimResult,
  LostLease,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
} from '../../job-store.js';
import type { AdminSql } from '../admin/admin-sql.js';
import type { BatchSql } from '../batches/batch-sql.js';
import type { TextMaker } from '../admin/sql-text.js';
import { chunksOf } from '../chunks.js';
import { isAnyDueNow } from '../due-now.js';
import { fireBy } from '../firing.js';
import { toForeignClaims, toRecoveredJob, toText, type Row } from '../job-row.js';
import { tellCancelled, tryTellCancelled } from '../lost-leases.js';
import type { TableName } from '../../../model/table-name.js';
import { ensureSchema, type SchemaMode } from '../migrations/ensure-schema.js';
import { KeylessLooks } from '../keyless-looks.js';
import { besideHeart, heartbeatAnswerMs } from '../own-connections.js';
import { RunnerTransaction } from '../runner-transaction.js';
import { retryPassing } from '../retry.js';
import { sqlNames, type SqlNames } from '../table-name.js';
import { Turnstile } from '../turnstile.js';
import { PgText, PostgresAdmin } from './postgres-admin.js';
import { admitAlone, admitOn, admitWithin, type PgAdmissionParts } from './postgres-admission.js';
import { PostgresBatches } from './postgres-batches.js';
import { pruneSlotsStatement } from './postgres-admission-statements.js';
import { channelOf } from './postgres-channel.js';
import { claimedJob } from './postgres-claimed.js';
import { exchangeStatement } from './postgres-exchange.js';
import { pendingTypesStatement } from './postgres-streams.js';
import { PostgresWrites } from './postgres-writes.js';
import { claimLimitedJobs } from './postgres-limited.js';
import { PostgresConnections } from './postgres-connections.js';
import { isPassing, isPassingOrFull, isPassingWait } from './postgres-passing.js';
import { PostgresListener } from './postgres-listener.js';
import { inPgTransaction, joinedClient, say, type PgPool, type PgQueryable, type PgResult } from './postgres-pool.js';
import { findPostgresSchema, postgresSchemaAccess } from './postgres-schema.js';
import {
  cancelledStatement,
  disownStatement,
  extendStatement,
  foreignClaimsStatement,
  insertStatement,
  noteStatement,
  pruneStatement,
  recoverStatement,
} from './postgres-statements.js';
import type { PgStatement } from './postgres-values.js';
import type { Firing, SqlDialect } from './sql-dialect.js';

export interface PostgresSettings {
  readonly name: TableName;
  readonly schema: SchemaMode;
  readonly connections: number;
  readonly isNotifying: boolean;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/** PostgreSQL 13 and later. Every verb is one statement, except an insert too large for one. */
export class PostgresDialect implements SqlDialect {
  readonly admin: AdminSql = new PostgresAdmin({
    names: () => this.names,
    run: (statement) => this.run(statement),
    channel: () => (this.settings.isNotifying ? channelOf(this.names.name) : undefined),
  });
  readonly hasOneConnection = false;
  readonly batches: BatchSql = new PostgresBatches({
    names: () => this.names,
    transaction: (lane, run) => this.batchTransaction(lane, run),
    clientOf: joinedClient,
    own: {
      insert: (client, jobs) => this.insertOn(client, jobs),
      admit: (client, jobs) => admitOn(client, this.admission(), jobs),
    },
    within: {
      insert: (client, jobs) => this.insertOn(client, jobs),
      admit: (client, jobs) => admitWithin({ client, committed: this.openPool() }, this.admission(), jobs),
    },
  });
  private readonly connections: PostgresConnections;
  private names: SqlNames;
  private readonly inserts: Turnstile;
  /** Beside the other inserts: one that waits for somebody's open transaction must not hold them up. */
  private readonly keyed = new Turnstile(1);
  private readonly keylessLooks = new KeylessLooks();

  constructor(
    private readonly app: DataSource,
    private readonly settings: PostgresSettings,
  ) {
    this.names = sqlNames(settings.name, '"');
    this.inserts = new Turnstile(besideHeart(settings.connections) - 1);
    this.connections = new PostgresConnections(app, settings.connections);
  }

  get exchangesAtOnce(): number {
    return this.connections.exchangesAtOnce;
  }

  async open(): Promise<void> {
    await this.connections.open();
    this.names = sqlNames(this.settings.name, '"');
    const pool = this.openPool();
    await ensureSchema(this.settings.schema, postgresSchemaAccess(pool), this.names);
    const schema = await findPostgresSchema(pool, this.names);
    if (schema !== undefined) this.names = sqlNames({ ...this.settings.name, schema }, '"');
  }

  async insert(jobs: readonly NewJob[]): Promise<void> {
    const chunks = chunksOf(jobs);
    const [first] = chunks;
    if (first === undefined) return;
    await this.inserts.pass(async () => {
      const statement = this.insertOf(first);
      if (chunks.length === 1) await this.retried(() => this.connections.insert(statement));
      else await this.retried(() => inPgTransaction(this.openPool(), (client) => this.insertOn(client, jobs)));
    });
  }

  async insertWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<void> {
    await this.insertOn(await joinedClient(runner), jobs);
  }

  admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return retryPassing(isPassingWait, () =>
      admitAlone({ pool: this.openPool(), lane: this.keyed }, this.admission(), jobs),
    );
  }

  async admitWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    const client = await joinedClient(runner);
    return admitWithin({ client, committed: this.openPool() }, this.admission(), jobs);
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const statement = exchangeStatement(this.names, request);
    const { rows } = await this.retried(() => this.connections.exchange(statement));
    const isLost = (row: (typeof rows)[number]): boolean => row['job_type'] === null;
    const lost = rows.filter(isLost).map((row) => ({ id: toText(row['id']), token: toText(row['claim_token']) }));
    return {
      lost: await tryTellCancelled(lost, (leases) => this.cancelledAmong((look) => say(this.openPool(), look), leases)),
      claimed: rows.filter((row) => !isLost(row)).map(claimedJob),
    };
  }

  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    const retried = <T>(run: () => Promise<T>): Promise<T> => this.retried(run);
    const { names, keylessLooks } = this;
    return claimLimitedJobs({ names, keylessLooks, pool: this.openPool(), retried }, request);
  }

  async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    const query = { ...extendStatement(this.names.table, leases, leaseMs), query_timeout: heartbeatAnswerMs(leaseMs) };
    const { rows } = await retryPassing(isPassingOrFull, () => this.connections.heartbeat(query));
    const kept = new Set(rows.map((row) => row['token']));
    const lost = leases.filter(({ token }) => !kept.has(token));
    return tellCancelled(lost, (gone) => this.cancelledAmong((look) => this.connections.heartbeat(look), gone));
  }

  async note(notes: readonly JobNote[]): Promise<void> {
    await this.run(noteStatement(this.names.table, notes));
  }

  begin(lease: Lease): Promise<JobTransaction<JobWrite>> {
    return RunnerTransaction.begin(this.app, new PostgresWrites(() => this.names, lease));
  }

  async foreignClaims(owner: string): Promise<readonly ForeignClaims[]> {
    const { rows } = await this.run(foreignClaimsStatement(this.names.table, owner));
    return rows.map((row) => toForeignClaims(row));
  }

  async recover(request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    const { rows } = await this.run(recoverStatement(this.names.table, request));
    return rows.map(toRecoveredJob);
  }

  async disown(owner: string, held: readonly Lease[]): Promise<number> {
    const { rowCount } = await this.run(disownStatement(this.names.table, owner, held));
    return rowCount ?? 0;
  }

  async prune(request: PruneRequest): Promise<number> {
    const { rowCount } = await this.run(pruneStatement(this.names.table, request));
    return rowCount ?? 0;
  }

  async pruneSlots(limit: number): Promise<number> {
    const { rowCount } = await this.run(pruneSlotsStatement(this.names.slots, limit));
    return rowCount ?? 0;
  }

  async pendingTypes(): Promise<readonly string[]> {
    const { rows } = await this.run(pendingTypesStatement(this.names.table));
    return rows.map((row) => toText(row['job_type']));
  }

  async writeTogether(statements: readonly TextMaker[]): Promise<void> {
    await this.retried(() =>
      inPgTransaction(this.openPool(), async (client) => {
        for (const make of statements) await this.write(client, make);
      }),
    );
  }

  fire(firing: Firing): Promise<string | undefined> {
    const run = (client: PgQueryable): Promise<string | undefined> => {
      const admit = (jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> =>
        admitOn(client, this.admission(), jobs);
      return fireBy({ write: (make) => this.write(client, make), admit }, firing);
    };
    return retryPassing(isPassingWait, () => inPgTransaction(this.openPool(), run));
  }

  listen(wake: () => void): () => Promise<void> {
    const { isNotifying, warn } = this.settings;
    if (!isNotifying || !this.connections.isOpen) return async () => {};
    const listener = new PostgresListener({ pool: this.openPool(), channel: channelOf(this.names.name), wake, warn });
    listener.start();
    return () => listener.stop();
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private async cancelledAmong(
    ask: (look: PgStatement) => Promise<PgResult>,
    leases: readonly Lease[],
  ): Promise<readonly Row[]> {
    return (await ask(cancelledStatement(this.names.table, leases))).rows;
  }

  private async write(client: PgQueryable, make: TextMaker): Promise<number> {
    const sql = new PgText(this.names);
    return (await say(client, { text: make(sql), values: sql.list })).rowCount ?? 0;
  }

  private run(statement: PgStatement): Promise<PgResult> {
    return this.retried(() => say(this.openPool(), statement));
  }

  private retried<T>(run: () => Promise<T>): Promise<T> {
    return retryPassing(isPassing, run);
  }

  private batchTransaction<T>(lane: 'plain' | 'conditional', run: (client: PgQueryable) => Promise<T>): Promise<T> {
    const turnstile = lane === 'plain' ? this.inserts : this.keyed;
    return turnstile.pass(() => retryPassing(isPassingWait, () => inPgTransaction(this.openPool(), run)));
  }

  private async insertOn(client: PgQueryable, jobs: readonly NewJob[]): Promise<void> {
    for (const chunk of chunksOf(jobs)) await say(client, this.insertOf(chunk));
  }

  private insertOf(jobs: readonly NewJob[]): PgStatement {
    return insertStatement(this.names.table, jobs, this.channelFor(jobs));
  }

  private admission(): PgAdmissionParts {
    return { names: this.names, channelFor: (jobs) => this.channelFor(jobs), clock: this.settings.clock };
  }

  /** Where other processes are to be told of these jobs. */
  private channelFor(jobs: readonly NewJob[]): string | undefined {
    const { isNotifying, clock } = this.settings;
    return isNotifying && isAnyDueNow(jobs, clock.now()) ? channelOf(this.names.name) : undefined;
  }

  private openPool(): PgPool {
    return this.connections.pool();
  }
}
