import type { Attempt } from './attempt.js';
import type { Execution } from './execution.js';

/** What is to be run in a transaction, and what becomes of it. */
export interface TransactionalWork {
  /**
   * Runs the handler and all that is around it, within its timeout.
   *
   * @param enter Calls its argument where the transaction is the one around it.
   */
  readonly run: (enter: Enter) => Promise<unknown>;
  /** Says what a value that was returned, or something that was thrown, comes to. */
  readonly conclude: (ending: Ending) => Execution;
}

export type Enter = <T>(work: () => T) => T;

export type Ending = { readonly value: unknown } | { readonly thrown: unknown };

/** Runs handlers in transactions whose commit completes their jobs. */
export interface HandlerTransactions {
  /** Never throws. Where the commit has stored the outcome, the execution says so by `isSettled`. */
  execute(attempt: Attempt, work: TransactionalWork): Promise<Execution>;
}
