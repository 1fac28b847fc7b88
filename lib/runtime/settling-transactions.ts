import type { Attempt } from '../execution/attempt.js';
import type { Execution } from '../execution/execution.js';
import type { HandlerTransactions, TransactionalWork } from '../execution/handler-transactions.js';
import type { Clock } from '../model/clock.js';
import { JobAbortedError, StoreError } from '../model/errors.js';
import type { JobTransaction } from '../model/job-transaction.js';
import type { JobStore, JobWrite } from '../stores/job-store.js';
import { withDeadline } from './deadline.js';
import { settlementOf } from './settler.js';

/** An answer to the commit that takes longer counts as none. */
const answerMs = 30_000;

const doomed = Symbol('nothing of it can count any more');

/**
 * Runs handlers in transactions of the app's, and completes their jobs by the same commit.
 *
 * Only what ends well is committed. Whatever else becomes of an attempt, its transaction is rolled back first, and its outcome goes the usual
 * way. The commit is guarded by the claim token: where the claim is lost, everything is rolled back.
 */
export class SettlingTransactions implements HandlerTransactions {
  constructor(
    private readonly store: Pick<JobStore, 'begin'>,
    private readonly clock: Clock,
  ) {}

  async execute(attempt: Attempt, work: TransactionalWork): Promise<Execution> {
    try {
      const transaction = await this.begin(attempt);
      if (this.clock.monotonic() > attempt.startsBy) return await this.tooLate(transaction, attempt);
      return await this.executeIn(transaction, attempt, work);
    } catch (error) {
      return work.conclude({ thrown: error });
    }
  }

  /** While it waited for its connection the permit of its rate limit has run out: it goes back, and takes another one. */
  private async tooLate(transaction: JobTransaction<JobWrite>, attempt: Attempt): Promise<Execution> {
    attempt.hasBegun = false;
    attempt.onLate?.();
    await transaction.rollback();
    return { outcome: { kind: 'released', delayMs: 0 } };
  }

  /** A handler that is told to end, before it has begun, does not wait for its connection. */
  private async begin(attempt: Attempt): Promise<JobTransaction<JobWrite>> {
    if (this.store.begin === undefined) throw new StoreError('this store has no transactions');
    const opening = this.store.begin(attempt.job);
    const { signal } = attempt;
    let stop = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort);
      stop = () => signal.removeEventListener('abort', onAbort);
    });
    try {
      return await Promise.race([opening, aborted]);
    } catch (error) {
      opening.then((late) => late.kill()).catch(() => undefined);
      throw error;
    } finally {
      stop();
    }
  }

  private async executeIn(
    transaction: JobTransaction<JobWrite>,
    attempt: Attempt,
    work: TransactionalWork,
  ): Promise<Execution> {
    const doom = new Promise<typeof doomed>((resolve) => {
      // The end of a timeout is told by the run itself.
      const onDoom = (): void => (attempt.aborted === 'timeout' ? undefined : resolve(doomed));
      attempt.enter(transaction.manager, onDoom);
    });
    const running = work.run((inside) => transaction.run(inside));
    let execution: Execution;
    try {
      const value = await Promise.race([running, doom]);
      if (value === doomed) return await this.killed(transaction, attempt, work);
      execution = work.conclude({ value });
    } catch (error) {
      // After a timeout the handler may still be at work.
      await (attempt.aborted === 'timeout' ? transaction.kill() : transaction.rollback());
      return work.conclude({ thrown: error });
    }
    if (execution.outcome.kind !== 'completed') {
      await transaction.rollback();
      return execution;
    }
    return this.commit(transaction, attempt, { execution, work });
  }

  private async commit(
    transaction: JobTransaction<JobWrite>,
    attempt: Attempt,
    { execution, work }: { readonly execution: Execution; readonly work: TransactionalWork },
  ): Promise<Execution> {
    if (attempt.isDoomed) return this.killed(transaction, attempt, work);
    // From here on a heartbeat that finds no row has not lost it.
    attempt.hasEnded = true;
    const settlement = settlementOf(attempt, execution, this.clock.monotonic());
    try {
      const isCommitted = await withDeadline(transaction.commit({ kind: 'settle', settlement }), answerMs);
      if (isCommitted) return { ...execution, isSettled: true };
      await transaction.rollback();
    } catch (error) {
      await transaction.kill();
      // Should it have been committed all the same, this outcome finds no claim and changes nothing.
      return work.conclude({ thrown: error });
    }
    // The claim is lost, so that this outcome cannot be stored; asking for it finds out why.
    return { outcome: { kind: 'released', delayMs: 0 } };
  }

  private async killed(
    transaction: JobTransaction<JobWrite>,
    attempt: Attempt,
    work: TransactionalWork,
  ): Promise<Execution> {
    await transaction.kill();
    const cause = attempt.aborted ?? 'shutdown';
    return work.conclude({ thrown: new JobAbortedError(cause, 'the transaction of the handler was rolled back') });
  }
}
