import type { DataSource } from 'typeorm';
import { OwnConnections } from '../own-connections.js';
import { errorField, retryPassing } from '../retry.js';
import { MysqlConnections, type MysqlConnection } from './mysql-pool.js';

export type MysqlWays = Pick<MysqlConnections, 'use'>;

/** The server has as many connections as it takes, of all, of one account, or of one account in an hour. */
const full = [1040, 1203, 1226];

/** Where heartbeats go: a connection of their own, unless the store has just one. */
export class MysqlHeart implements MysqlWays {
  private readonly own: OwnConnections<MysqlConnections>;

  /**
   * @param most How many connections the store has in all.
   * @param others Those for everything else.
   */
  constructor(
    app: DataSource,
    private readonly most: number,
    private readonly others: () => MysqlConnections,
  ) {
    this.own = new OwnConnections(app, (own) => new MysqlConnections(own));
  }

  /**
   * On one of the others where it cannot be opened: a server that is full refuses new connections and goes on serving those that are open. These
   * may be busy just now, so it is tried again.
   */
  use<T>(run: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    return retryPassing(isFull, () => this.useOne(run));
  }

  close(): Promise<void> {
    return this.own.close();
  }

  private async useOne<T>(run: (connection: MysqlConnection) => Promise<T>): Promise<T> {
    if (this.most === 1) return this.others().use(run);
    const own = await this.own.way().catch(() => undefined);
    return own === undefined ? this.others().use(run) : own.use(run, this.others());
  }
}

function isFull(error: unknown): boolean {
  return full.includes(Number(errorField(error, 'errno')));
}
