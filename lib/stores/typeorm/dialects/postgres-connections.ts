import type { DataSource } from 'typeorm';
import { besideHeart, OwnConnections } from '../own-connections.js';
import { closeOwnDataSource, type StartUp } from '../own-data-source.js';
import { openPostgres } from './postgres-direct.js';
import { onEither, postgresPool, say, type PgPool, type PgQuery, type PgResult } from './postgres-pool.js';
import { PreparedStatements } from './postgres-prepared.js';
import type { PgStatement } from './postgres-values.js';

/**
 * A plan that is kept must be right for every table to come, also when it is made while the table is empty and all ways cost nothing: by
 * the index and in its order, and where two lists are compared, by a hash of one. What has no other way is sorted or nested all the same.
 */
export const laneStartUp: StartUp = {
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_nestloop: 'off',
  enable_mergejoin: 'off',
};
/** One statement for those who wait for its answer, and one that the server works on meanwhile. */
const lanes = 2;

type Say = (statement: PgStatement) => Promise<PgResult>;

interface Opened {
  readonly own: DataSource;
  readonly pool: PgPool;
  readonly insert: Say;
  readonly exchange: Say;
  /** Whether exchanges have connections of their own. */
  readonly hasLanes: boolean;
}

/** The store's own connections, each for its purpose. */
export class PostgresConnections {
  private opened: Opened | undefined;
  private readonly heart: OwnConnections<PgPool>;
  private readonly lanes: OwnConnections<PgPool>;

  /** @param most How many but the ones for exchanges and for listening. */
  constructor(
    private readonly app: DataSource,
    private readonly most: number,
  ) {
    this.heart = new OwnConnections(app, postgresPool);
    this.lanes = new OwnConnections(app, postgresPool, { connections: lanes, startUp: laneStartUp });
  }

  get isOpen(): boolean {
    return this.opened !== undefined;
  }

  get exchangesAtOnce(): number {
    return this.opened?.hasLanes === true ? lanes : 1;
  }

  async open(): Promise<void> {
    await this.close();
    const { own, isDirect } = await openPostgres(this.app, besideHeart(this.most));
    const pool = postgresPool(own);
    const plain: Say = (statement) => say(pool, statement);
    const prepared = (way: () => PgPool | Promise<PgPool>): Say => {
      const statements = new PreparedStatements(way, () => pool);
      return isDirect ? (statement) => statements.say(statement) : plain;
    };
    const insert = prepared(() => pool);
    const hasLanes = isDirect && this.most > 1;
    this.opened = { own, pool, insert, exchange: hasLanes ? prepared(() => this.lanes.way()) : plain, hasLanes };
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    await Promise.all([opened && closeOwnDataSource(opened.own), this.lanes.close(), this.heart.close()]);
  }

  /** @throws Error when it is not open. */
  pool(): PgPool {
    return this.ways().pool;
  }

  heartbeat(query: PgQuery): Promise<PgResult> {
    const pool = (): PgPool => this.pool();
    return onEither(this.most === 1 ? pool : () => this.heart.way(), pool, () => query);
  }

  insert(statement: PgStatement): Promise<PgResult> {
    return this.ways().insert(statement);
  }

  exchange(statement: PgStatement): Promise<PgResult> {
    return this.ways().exchange(statement);
  }

  private ways(): Opened {
    if (this.opened === undefined) throw new Error('the store is not open');
    return this.opened;
  }
}
