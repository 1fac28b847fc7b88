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
import { MarkedText, type TextMaker } from '../admin/sql-text.js';
import { fireBy } from '../firing.js';
import { toForeignClaims, toRecoveredJob, toText, type Row } from '../job-row.js';
import { tellCancelled, tryTellCancelled } from '../lost-leases.js';
import type { TableName } from '../../../model/table-name.js';
import { ensureSchema, type SchemaMode } from '../migrations/ensure-schema.js';
import { besideHeart, heartbeatAnswerMs } from '../own-connections.js';
import { KeylessLooks } from '../keyless-looks.js';
import { closeOwnDataSource, openOwnDataSource } from '../own-data-source.js';
import { RunnerTransaction } from '../runner-transaction.js';
import { sqlNames, type SqlNames } from '../table-name.js';
import { Turnstile } from '../turnstile.js';
import { MysqlAdmin } from './mysql-admin.js';
import { admitAlone, admitOn, admitWithin, type MysqlAdmissionParts } from './mysql-admission.js';
import { MysqlBatches } from './mysql-batches.js';
import { freeSlotsStatement, pruneSlotsStatement } from './mysql-admission-statements.js';
import { MysqlClaimer } from './mysql-claimer.js';
import { MysqlExchange } from './mysql-exchange.js';
import { MysqlHeart, type MysqlWays } from './mysql-heart.js';
import { claimLimitedJobs } from './mysql-limited.js';
import { joinedConnection, MysqlInserter } from './mysql-inserter.js';
import { MysqlConnections, retryMysql, type MysqlConnection, type MysqlResult } from './mysql-pool.js';
import { mysqlSchemaAccess } from './mysql-schema.js';
import {
  cancelledStatement,
  extendStatement,
  lockHeldStatement,
  noteStatement,
  mysqlNowMs,
  run,
  slicesOf,
  type MysqlStatement,
} from './mysql-statements.js';
import {
  disownStatement,
  expiredStatement,
  foreignClaimsStatement,
  prunableStatements,
  pruneStatement,
  lockExpiredStatement,
  ownedStatement,
  recoveredStatement,
  recoverStatement,
} from './mysql-upkeep.js';
import { MysqlWrites } from './mysql-writes.js';
import type { Firing, SqlDialect } from './sql-dialect.js';

export interface MysqlSettings {
  readonly name: TableName;
  readonly schema: SchemaMode;
  readonly connections: number;
  readonly clock: Clock;
}

/** What there is while the store is open. */
interface Opened {
  readonly own: DataSource;
  readonly connections: MysqlConnections;
  readonly inserter: MysqlInserter;
  readonly claimer: MysqlClaimer;
  readonly exchanger: MysqlExchange;
}

/** MySQL 8.0 and MariaDB 10.6, and later. A verb is one statement where it can be, else one short transaction by primary keys. */
export class MysqlDialect implements SqlDialect {
  readonly admin: AdminSql;
  readonly hasOneConnection = false;
  readonly batches: BatchSql;
  private opened: Opened | undefined;
  private readonly names: SqlNames;
  private readonly inserts: Turnstile;
  /** Beside the other inserts: one that waits for somebody's open transaction must not hold them up. */
  private readonly keyed = new Turnstile(1);
  private readonly heart: MysqlHeart;
  private readonly keylessLooks = new KeylessLooks();

  constructor(
    private readonly app: DataSource,
    private readonly settings: MysqlSettings,
  ) {
    this.names = sqlNames(settings.name, '`');
    this.inserts = new Turnstile(besideHeart(settings.connections) - 1);
    this.admin = new MysqlAdmin({
      names: this.names,
      connections: () => this.parts().connections,
      checkPayload: (payload) => this.parts().inserter.checkSize(payload),
    });
    this.batches = new MysqlBatches({
      names: this.names,
      transaction: (lane, work) => (lane === 'plain' ? this.inserts : this.keyed).pass(() => this.transaction(work)),
      admission: () => this.admission(),
    });
    this.heart = new MysqlHeart(app, settings.connections, () => this.parts().connections);
  }

  async open(): Promise<void> {
    await this.close();
    const { table } = this.names;
    const own = await openOwnDataSource(this.app, besideHeart(this.settings.connections));
    const connections = new MysqlConnections(own);
    const inserter = new MysqlInserter(connections, table);
    const claimer = new MysqlClaimer(connections, this.names);
    const exchanger = new MysqlExchange(connections, table, claimer);
    this.opened = { own, connections, inserter, claimer, exchanger };
    await inserter.learnLimits();
    await ensureSchema(this.settings.schema, mysqlSchemaAccess(connections), this.names);
  }

  insert(jobs: readonly NewJob[]): Promise<void> {
    return this.inserts.pass(() => retryMysql(() => this.parts().inserter.insert(jobs)));
  }

  insertWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<void> {
    return this.parts().inserter.insertWithin(runner, jobs);
  }

  async admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return admitAlone(this.parts().connections, { ...this.admission(), lane: this.keyed }, jobs);
  }

  async admitWithin(runner: QueryRunner, jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return admitWithin(await joinedConnection(runner), this.admission(), jobs);
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { connections, exchanger } = this.parts();
    const { lost, claimed } = await exchanger.exchange(request);
    return { lost: await tryTellCancelled(lost, (leases) => this.cancelledAmong(connections, leases)), claimed };
  }

  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaimResult> {
    const { connections, claimer } = this.parts();
    const { names, keylessLooks } = this;
    return claimLimitedJobs({ names, connections, claimer, keylessLooks }, request);
  }

  async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    const lost: LostLease[] = [];
    for (const slice of slicesOf(leases)) lost.push(...(await this.extendSlice(slice, leaseMs)));
    return lost;
  }

  async note(notes: readonly JobNote[]): Promise<void> {
    const { connections } = this.parts();
    const statement = noteStatement(this.names.table, notes);
    await retryMysql(() => connections.use((connection) => run(connection, statement)));
  }

  begin(lease: Lease): Promise<JobTransaction<JobWrite>> {
    return RunnerTransaction.begin(this.app, new MysqlWrites(this.names.table, lease));
  }

  async foreignClaims(owner: string): Promise<readonly ForeignClaims[]> {
    const statement = foreignClaimsStatement(this.names.table, owner);
    const { rows } = await this.parts().connections.use((connection) => run(connection, statement));
    return rows.map((row) => toForeignClaims(row));
  }

  async recover(request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    const { table } = this.names;
    const { connections } = this.parts();
    const { rows } = await connections.use((connection) => run(connection, expiredStatement(table, request)));
    const ids = rows.map((row) => toText(row['id']));
    if (ids.length === 0) return [];
    return this.transaction(async (connection) => {
      const locked = await run(connection, lockExpiredStatement(table, ids, request));
      const mine = locked.rows.map((row) => toText(row['id']));
      if (mine.length === 0) return [];
      await run(connection, recoverStatement(table, mine, request));
      return (await run(connection, recoveredStatement(table, mine))).rows.map(toRecoveredJob);
    });
  }

  /** By ids that are looked up without a lock: a locking search by owner would wait for the rows of others. */
  async disown(owner: string, held: readonly Lease[]): Promise<number> {
    const { table } = this.names;
    const { connections } = this.parts();
    const { rows } = await connections.use((connection) => run(connection, ownedStatement(table, owner)));
    const tokens = new Set<unknown>(held.map(({ token }) => token));
    const strays = rows.filter((row) => !tokens.has(row['claim_token'])).map((row) => toText(row['id']));
    let given = 0;
    for (const ids of slicesOf(strays)) given += await this.change(disownStatement(table, owner, ids));
    return given;
  }

  async prune(request: PruneRequest): Promise<number> {
    const { table } = this.names;
    const { connections } = this.parts();
    const ids: string[] = [];
    for (const statement of prunableStatements(table, request)) {
      const { rows } = await connections.use((connection) => run(connection, statement));
      ids.push(...rows.map((row) => toText(row['id'])));
    }
    if (ids.length === 0) return 0;
    return this.change(pruneStatement(table, ids, request));
  }

  async pruneSlots(limit: number): Promise<number> {
    const free = freeSlotsStatement(this.names.slots, limit);
    const { rows } = await this.parts().connections.use((connection) => run(connection, free));
    return rows.length === 0 ? 0 : this.change(pruneSlotsStatement(this.names.slots, rows));
  }

  pendingTypes(): Promise<readonly string[]> {
    const { connections, claimer } = this.parts();
    return connections.use((connection) => claimer.pendingTypes(connection));
  }

  writeTogether(statements: readonly TextMaker[]): Promise<void> {
    return this.transaction(async (connection) => {
      for (const make of statements) await this.write(connection, make);
    });
  }

  fire(firing: Firing): Promise<string | undefined> {
    return this.transaction((connection) => {
      const admit = (jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> =>
        admitOn(connection, this.admission(), jobs);
      return fireBy({ write: (make) => this.write(connection, make), admit }, firing);
    });
  }

  /** This database tells nobody; jobs of other processes are found by polling. */
  listen(): () => Promise<void> {
    return async () => {};
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    await Promise.all([opened === undefined ? undefined : closeOwnDataSource(opened.own), this.heart.close()]);
  }

  /** What was not extended is looked for afterwards: it is lost, or its job has been settled meanwhile. */
  private async extendSlice(leases: readonly Lease[], leaseMs: number): Promise<readonly LostLease[]> {
    const { heart, names } = this;
    const ask = (statement: MysqlStatement): Promise<MysqlResult> =>
      retryMysql(() => heart.use((connection) => run(connection, statement, heartbeatAnswerMs(leaseMs))));
    const { affected } = await ask(extendStatement(names.table, leases, leaseMs));
    if (affected === leases.length) return [];
    const { rows } = await ask(lockHeldStatement(names.table, leases));
    const held = new Set(rows.map((row) => row['claim_token']));
    const lost = leases.filter(({ token }) => !held.has(token));
    return tellCancelled(lost, (gone) => this.cancelledAmong(heart, gone));
  }

  private async cancelledAmong(ways: MysqlWays, leases: readonly Lease[]): Promise<readonly Row[]> {
    const found: Row[] = [];
    for (const statement of slicesOf(leases).map((slice) => cancelledStatement(this.names.table, slice))) {
      found.push(...(await ways.use((connection) => run(connection, statement))).rows);
    }
    return found;
  }

  private async write(connection: MysqlConnection, make: TextMaker): Promise<number> {
    const sql = new MarkedText(this.names, mysqlNowMs);
    const text = make(sql);
    return (await run(connection, { text, values: sql.values })).affected;
  }

  private async change(statement: MysqlStatement): Promise<number> {
    const { connections } = this.parts();
    return (await retryMysql(() => connections.use((connection) => run(connection, statement)))).affected;
  }

  private transaction<T>(work: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    return retryMysql(() => this.parts().connections.transaction(work));
  }

  private admission(): MysqlAdmissionParts {
    const { connections, inserter } = this.parts();
    return { names: this.names, connections, inserter, clock: this.settings.clock };
  }

  private parts(): Opened {
    if (this.opened === undefined) throw new Error('the store is not open');
    return this.opened;
  }
}
