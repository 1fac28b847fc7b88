import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import type { Clock } from '../../../model/clock.js';
import { TransactionWaitError } from '../../../model/errors.js';
import { isBusy, isIterating, withBusyTimeout, type SqliteHandle } from './sqlite-handle.js';

/** How often it is looked whether the connection has become free. */
const lookMs = 3;
/** How much of the time since its coming other connections may take from a block by holding the lock of the file. */
export const busyLimitMs = 10_000;
/** How long SQLite waits for it by itself. */
export const busyTimeoutMs = 10;
export const longestBusyPauseMs = 50;
/** Blocks and what awaits them need no turn of the event loop; so that it has its turns all the same, it gets one after so long. */
const turnMs = 20;

interface Waiting {
  /** Runs the block and tells its promise; throws what makes it worth to wait. */
  readonly attempt: () => void;
  readonly reject: (error: unknown) => void;
  /** Since when it is the app's transactions that hold it up. */
  heldUpSince: number | undefined;
  /** What other connections had held up in all when it came, milliseconds. */
  readonly busyBeforeMs: number;
}

export interface SqliteGateParts {
  readonly handle: () => SqliteHandle;
  readonly clock: Clock;
  /** How long a block waits for the app's transactions, milliseconds. */
  readonly transactionWaitMs: number;
}

/**
 * Lets blocks onto the app's one connection, in the order of their coming and only while no transaction is open on it. A block is
 * synchronous, so that it can get into nobody's transaction and nobody into its own. Who finds the connection taken waits without
 * holding up the event loop: whoever holds it needs that to finish.
 */
export class SqliteGate {
  private readonly queue: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;
  private turnEnd: number | undefined;
  /** How long other connections have held up this one, milliseconds, and since when they do so now. */
  private busyMs = 0;
  private busySince: number | undefined;

  constructor(private readonly parts: SqliteGateParts) {}

  /**
   * @throws TransactionWaitError when the app's transactions did not leave the connection free in time.
   * @throws what the block throws; a lock of another connection only after ten seconds, wherever in the queue it stands by then.
   */
  run<T>(block: (handle: SqliteHandle) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const attempt = (): void => {
        const handle = this.parts.handle();
        resolve(withBusyTimeout(handle, busyTimeoutMs, () => block(handle)));
      };
      this.queue.push({ attempt, reject, heldUpSince: undefined, busyBeforeMs: this.busyInAllMs() });
      if (this.queue.length === 1) this.pump();
    });
  }

  /** To be called when a transaction has ended, before the next one begins; a look now and then might never hit the gap. */
  pump(): void {
    clearTimeout(this.timer);
    const { clock } = this.parts;
    const turnEnd = this.currentTurn();
    let pauseMs: number | undefined;
    while (this.queue.length > 0 && pauseMs === undefined) {
      pauseMs = clock.monotonic() > turnEnd ? 0 : this.tryNext(this.queue);
    }
    if (pauseMs !== undefined && this.queue.length > 0) this.timer = setTimeout(() => this.pump(), pauseMs);
  }

  /** Until when blocks may run in this turn of the event loop. */
  private currentTurn(): number {
    if (this.turnEnd === undefined) {
      this.turnEnd = this.parts.clock.monotonic() + turnMs;
      setImmediate(() => (this.turnEnd = undefined));
    }
    return this.turnEnd;
  }

  /** Says how long to pause before the next try, or nothing when the first in the queue has had its answer. */
  private tryNext(queue: Waiting[]): number | undefined {
    const [next] = queue;
    if (next === undefined) return undefined;
    try {
      if (this.isTaken()) return this.waitForApp();
      next.attempt();
    } catch (error) {
      if (isIterating(error)) return this.waitForApp();
      if (isBusy(error)) return this.waitForOthers(error);
      next.reject(error);
    }
    this.endBusy();
    queue.shift();
    return undefined;
  }

  private isTaken(): boolean {
    const handle = this.parts.handle();
    return handle.open && handle.inTransaction;
  }

  /** Everybody waits for the same transaction, so whose time is over goes, wherever in the queue. */
  private waitForApp(): number {
    this.endBusy();
    const { clock, transactionWaitMs } = this.parts;
    const now = clock.monotonic();
    for (const waiting of this.queue) waiting.heldUpSince ??= now;
    while (now - (this.queue[0]?.heldUpSince ?? now) > transactionWaitMs) {
      this.queue
        .shift()
        ?.reject(
          new TransactionWaitError(
            `a transaction on the shared SQLite connection stayed open for ${transactionWaitMs} ms, so the queue could not ` +
              'use it: pass { manager } to enqueue inside a transaction, and do not wait for other things in one',
          ),
        );
    }
    return lookMs;
  }

  /** All wait for the same lock: it is as much in the way of the last one as of the first, so it counts against all of them. */
  private waitForOthers(error: unknown): number {
    this.busySince ??= this.parts.clock.monotonic();
    const busyMs = this.busyInAllMs();
    while (busyMs - (this.queue[0]?.busyBeforeMs ?? busyMs) >= busyLimitMs) this.queue.shift()?.reject(error);
    return Math.random() * longestBusyPauseMs;
  }

  private endBusy(): void {
    this.busyMs = this.busyInAllMs();
    this.busySince = undefined;
  }

  private busyInAllMs(): number {
    return this.busySince === undefined ? this.busyMs : this.busyMs + this.parts.clock.monotonic() - this.busySince;
  }
}
