import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { rollbackBegun, rollbackEnded, transactionEnded } from './rollbacks.js';

/**
 * Learns from TypeORM when a transaction of the app ends, so that workers are woken at its commit and not before, that nothing joins one that
 * is being rolled back, and that on SQLite those who wait for the shared connection get it between two transactions.
 */
export class CommitWatcher {
  private readonly waiting = new WeakMap<QueryRunner, Set<() => void>>();
  private readonly subscriber: EntitySubscriberInterface = {
    afterTransactionCommit: ({ queryRunner }) => this.ended(queryRunner, 'committed'),
    beforeTransactionRollback: ({ queryRunner }) => rollbackBegun(queryRunner),
    afterTransactionRollback: ({ queryRunner }) => {
      rollbackEnded(queryRunner);
      this.ended(queryRunner, 'rolled back');
    },
  };

  /** @param onEnd Called after the end of every transaction that is not inside another one. */
  constructor(
    private readonly dataSource: DataSource,
    private readonly onEnd: () => void,
  ) {}

  /** TypeORM makes a new list of subscribers whenever the DataSource is initialized, so this may have to be said again. */
  attach(): void {
    const { subscribers } = this.dataSource;
    if (!subscribers.includes(this.subscriber)) subscribers.push(this.subscriber);
  }

  detach(): void {
    const { subscribers } = this.dataSource;
    const position = subscribers.indexOf(this.subscriber);
    if (position !== -1) subscribers.splice(position, 1);
  }

  /** Calls `act` once, however often it was given, when the runner's outermost transaction has committed, never if it is rolled back. */
  afterCommit(runner: QueryRunner, act: () => void): void {
    this.attach();
    const acts = this.waiting.get(runner) ?? new Set();
    this.waiting.set(runner, acts.add(act));
  }

  private ended(runner: QueryRunner, how: 'committed' | 'rolled back'): void {
    // The release of a savepoint is called a commit too; the transaction around it is still open then.
    if (runner.isTransactionActive) return;
    transactionEnded(runner);
    const acts = this.waiting.get(runner) ?? [];
    this.waiting.delete(runner);
    if (how === 'committed') for (const act of acts) act();
    this.onEnd();
  }
}
