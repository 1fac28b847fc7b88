import type { DataSource } from 'typeorm';
import type { Clock } from '../../../model/clock.js';
import { TransactionWaitError } from '../../../model/errors.js';
import type { JobTransaction } from '../../../model/job-transaction.js';
import type { JobWrite } from '../../job-store.js';
import { pause } from '../retry.js';
import { Turnstile } from '../turnstile.js';
import type { SqliteGate } from './sqlite-gate.js';
import type { SqliteHandle } from './sqlite-handle.js';
import { SqliteTransaction, type SqliteTransactionParts } from './sqlite-transaction.js';

/** What the queues over one connection share. */
interface Shared {
  readonly turnstile: Turnstile;
  /** The transaction of a handler that is open on it. */
  open: OpenWork | undefined;
}

interface OpenWork {
  readonly handle: SqliteHandle;
  /** What has to be said again when it is over, by whom it concerns. */
  readonly renewals: Map<SqliteWorks, () => void>;
}

const sharedBy = new WeakMap<DataSource, Shared>();

export interface SqliteWorksParts {
  readonly app: DataSource;
  readonly gate: SqliteGate;
  readonly clock: Clock;
  readonly waitMs: number;
}

/**
 * Transactions of handlers on the app's one connection: one after the other, whichever queue they belong to. Who waits for another handler waits
 * for as long as that takes.
 */
export class SqliteWorks {
  private readonly shared: Shared;

  constructor(private readonly parts: SqliteWorksParts) {
    const shared = sharedBy.get(parts.app) ?? { turnstile: new Turnstile(1), open: undefined };
    sharedBy.set(parts.app, shared);
    this.shared = shared;
  }

  /** @throws TransactionWaitError when the app's transactions did not leave the connection free in time. */
  async begin(verbs: Pick<SqliteTransactionParts, 'recall' | 'write'>): Promise<JobTransaction<JobWrite>> {
    const leave = await this.turn();
    try {
      return await this.beginNow(verbs, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * The heartbeat cannot wait for the end of a handler that has the connection for itself, so it goes into that transaction. Nobody else can write
   * to the file meanwhile, so nobody can take a lease before its renewal is seen; and as the transaction may be rolled back, it
   * is said again at its end.
   *
   * @returns Whether there is such a transaction, in which `renew` was called.
   */
  renewWithin(renew: (handle: SqliteHandle) => void, again: () => void): boolean {
    const { open } = this.shared;
    if (open === undefined) return false;
    renew(open.handle);
    open.renewals.set(this, again);
    return true;
  }

  private turn(): Promise<() => void> {
    return new Promise((resolve) => {
      void this.shared.turnstile.pass(() => new Promise<void>((leave) => resolve(leave)));
    });
  }

  private async beginNow(
    verbs: Pick<SqliteTransactionParts, 'recall' | 'write'>,
    leave: () => void,
  ): Promise<SqliteTransaction> {
    const { app, gate, clock, waitMs } = this.parts;
    const parts = { ...verbs, app, clock, waitMs, onEnd: () => this.ended(leave) };
    const givesUpAt = clock.monotonic() + waitMs;
    for (;;) {
      const begun = await gate.run((handle) => {
        const transaction = SqliteTransaction.begin(handle, parts);
        if (transaction !== undefined) this.shared.open = { handle, renewals: new Map() };
        return transaction;
      });
      if (begun !== undefined) return begun;
      if (clock.monotonic() > givesUpAt) {
        throw new TransactionWaitError(
          `transactions of the app did not leave the SQLite connection free for ${waitMs} ms`,
        );
      }
      await pause(1);
    }
  }

  private ended(leave: () => void): void {
    const { open } = this.shared;
    this.shared.open = undefined;
    for (const again of open?.renewals.values() ?? []) {
      try {
        again();
      } catch {
        // Another process is just writing: the next heartbeat comes in time.
      }
    }
    leave();
  }
}
