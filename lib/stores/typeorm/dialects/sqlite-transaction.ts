import type { DataSource, QueryRunner } from 'typeorm';
import type { Clock } from '../../../model/clock.js';
import { StoreError, TransactionWaitError, UnsupportedDatabaseError } from '../../../model/errors.js';
import type { JobTransaction } from '../../../model/job-transaction.js';
import type { JobWrite } from '../../job-store.js';
import { hasFunctions } from '../guard.js';
import { inJobScope } from '../job-scope.js';
import { pause } from '../retry.js';
import { depthOf, sealable, type SealableRunner } from '../sealed-runner.js';
import { busyLimitMs, busyTimeoutMs, longestBusyPauseMs } from './sqlite-gate.js';
import { isBusy, withBusyTimeout, type SqliteHandle } from './sqlite-handle.js';

/** How often it is looked whether the transactions of others inside of this one have ended. */
const lookMs = 3;

export interface SqliteTransactionParts {
  readonly app: DataSource;
  readonly clock: Clock;
  readonly waitMs: number;
  readonly recall: (handle: SqliteHandle) => { readonly text: string | null } | undefined;
  /** Says whether the claim stood. */
  readonly write: (handle: SqliteHandle, write: JobWrite) => boolean;
  /** Called as soon as it is over, before anything else can happen on the connection. */
  readonly onEnd: () => void;
}

/**
 * A transaction on the app's one connection. It begins and ends synchronously, by statements of our own, and tells TypeORM: by TypeORM's own
 * ways other code on the connection could get in between.
 *
 * It takes the lock of the file as it begins, so that its commit cannot fail for what other processes have written meanwhile.
 */
export class SqliteTransaction implements JobTransaction<JobWrite> {
  readonly manager: object;
  private readonly own: SealableRunner;
  private isOver = false;

  private constructor(
    private readonly handle: SqliteHandle,
    private readonly shared: QueryRunner,
    private readonly parts: SqliteTransactionParts,
  ) {
    this.own = sealable(shared, (runner) => parts.app.createEntityManager(runner));
    this.manager = this.own.runner.manager;
  }

  /** To be called while the connection is free. `undefined`: a transaction of the app is just about to begin. */
  static begin(handle: SqliteHandle, parts: SqliteTransactionParts): SqliteTransaction | undefined {
    const shared = parts.app.createQueryRunner();
    if (typeof depthOf(shared) !== 'number') {
      throw new UnsupportedDatabaseError(
        'this version of TypeORM does not say how deep its transactions are nested on SQLite',
      );
    }
    if (shared.isTransactionActive) return undefined;
    const transaction = new SqliteTransaction(handle, shared, parts);
    handle.exec('BEGIN IMMEDIATE');
    tell(shared, { isTransactionActive: true, transactionDepth: 1 });
    return transaction;
  }

  run<T>(work: () => T): T {
    return inJobScope(this.manager, work);
  }

  async recall(): Promise<{ readonly text: string | null } | undefined> {
    return this.parts.recall(this.handle);
  }

  async commit(write: JobWrite): Promise<boolean> {
    await this.othersOut();
    if (this.isOver || !this.parts.write(this.handle, write)) return false;
    await this.commitAlone();
    await this.ended('AfterTransactionCommit');
    return true;
  }

  async rollback(): Promise<void> {
    if (this.isOver) return;
    this.own.seal();
    await this.othersOut().catch(() => undefined);
    // What has passed the seal already is carried out before, and undone with the rest.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.isOver) return;
    if (this.handle.open && this.handle.inTransaction) this.handle.exec('ROLLBACK');
    await this.ended('AfterTransactionRollback');
  }

  kill(): Promise<void> {
    return this.rollback();
  }

  /** Without WAL a commit has to wait for those who read in other processes. This one must not stand still for them. */
  private async commitAlone(): Promise<void> {
    const { clock } = this.parts;
    const givesUpAt = clock.monotonic() + busyLimitMs;
    for (;;) {
      try {
        withBusyTimeout(this.handle, busyTimeoutMs, () => this.handle.exec('COMMIT'));
        return;
      } catch (error) {
        if (!isBusy(error) || clock.monotonic() > givesUpAt) throw error;
      }
      await pause(Math.random() * longestBusyPauseMs);
      await this.othersOut();
      if (this.isOver) throw new StoreError('the transaction was rolled back while it waited for its commit');
    }
  }

  private async ended(event: 'AfterTransactionCommit' | 'AfterTransactionRollback'): Promise<void> {
    this.isOver = true;
    this.own.seal();
    tell(this.shared, { isTransactionActive: false, transactionDepth: 0 });
    this.parts.onEnd();
    const broadcaster: unknown = Reflect.get(this.shared, 'broadcaster');
    if (!hasFunctions(broadcaster, ['broadcast'])) return;
    await (broadcaster as { broadcast(name: string): Promise<void> }).broadcast(event);
  }

  /** TypeORM nests what others begin meanwhile into this transaction. */
  private async othersOut(): Promise<void> {
    const { clock, waitMs } = this.parts;
    const givesUpAt = clock.monotonic() + waitMs;
    while (!this.isOver && Number(depthOf(this.shared)) > 1) {
      if (clock.monotonic() > givesUpAt) {
        throw new TransactionWaitError(
          `other code kept a transaction open inside that of a handler for ${waitMs} ms, on the shared SQLite connection; it was rolled back`,
        );
      }
      await pause(lookMs);
    }
  }
}

function tell(runner: QueryRunner, state: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(state)) Reflect.set(runner, name, value);
}
