import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';

/**
 * Runs the service's own transactions.
 *
 * TypeORM has one connection to a SQLite file, and on one connection a second transaction fails while the first is open. So
 * there they take turns. The other databases have a connection for each.
 */
@Injectable()
export class Transactions {
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly dataSource: DataSource) {}

  run<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const begin = (): Promise<T> => this.dataSource.transaction(work);
    if (this.dataSource.options.type !== 'better-sqlite3') return begin();
    const turn = this.last.then(begin);
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
