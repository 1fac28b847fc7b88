import type { Attempt, OnceStep } from '../execution/attempt.js';
import { InvalidManagerError, JobAbortedError } from '../model/errors.js';
import type { JobTransaction } from '../model/job-transaction.js';
import { decodeRemembered, encodeRemembered } from '../model/remembered.js';
import type { JobStore, JobWrite } from '../stores/job-store.js';

/**
 * Runs steps of jobs once. Each has a transaction of its own, in which it is remembered; so the memory outlives an attempt that fails later,
 * and a step that is not remembered has left nothing behind in the database.
 */
export class OnceRunner {
  private readonly underWay = new WeakMap<Attempt, Map<string, Promise<unknown>>>();

  constructor(private readonly store: Pick<JobStore, 'begin' | 'hasOneConnection'>) {}

  /** Two calls of one name in one attempt are one step. */
  readonly run = (attempt: Attempt, step: OnceStep): Promise<unknown> => {
    const known = this.underWay.get(attempt) ?? new Map<string, Promise<unknown>>();
    this.underWay.set(attempt, known);
    const present = known.get(step.name);
    if (present !== undefined) return present;
    const running = this.runIn(attempt, step);
    known.set(step.name, running);
    // What failed may be tried again in the same attempt.
    running.catch(() => known.delete(step.name));
    return running;
  };

  private async runIn(attempt: Attempt, step: OnceStep): Promise<unknown> {
    if (this.store.begin === undefined) throw new InvalidManagerError('job.once needs a store with transactions');
    if (attempt.isInTransaction && this.store.hasOneConnection === true) {
      throw new InvalidManagerError(
        'job.once needs a transaction of its own, and on SQLite that of the transactional handler has the only connection: ' +
          'write through job.manager, which is exactly once already, or enqueue a job for what happens elsewhere',
      );
    }
    const transaction = await this.store.begin(attempt.job);
    try {
      return await this.runOnce(transaction, attempt, step);
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  private async runOnce(
    transaction: JobTransaction<JobWrite>,
    attempt: Attempt,
    { name, run }: OnceStep,
  ): Promise<unknown> {
    const recalled = await transaction.recall();
    if (recalled === undefined) throw lostError();
    const remembered = decodeRemembered(recalled.text, name);
    if (remembered !== undefined) {
      await transaction.rollback();
      return remembered.value;
    }
    const value = await transaction.run(async () => run(transaction.manager));
    const line = encodeRemembered(name, value);
    if (attempt.isDoomed || !(await transaction.commit({ kind: 'remember', line }))) throw lostError();
    return value;
  }
}

function lostError(): JobAbortedError {
  return new JobAbortedError(
    'lease lost',
    'this worker lost its claim on the job, so that what job.once did was rolled back',
  );
}
