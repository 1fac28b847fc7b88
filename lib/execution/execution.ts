import type { Complaint, Outcome } from '../model/outcome.js';

/** How an attempt ended, with the stack of the error for the log. */
export interface Execution {
  readonly outcome: Outcome;
  readonly stack?: string | undefined;
  readonly complaint?: Complaint | undefined;
  /** The outcome is in the store already: it was committed with the work. */
  readonly isSettled?: boolean;
}
