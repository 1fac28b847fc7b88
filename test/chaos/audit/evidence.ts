import type { Entry, Fact } from '../ledger/fact.js';
import type { Row } from '../../support/queue-rig.js';

/** All that is known when a run is over. */
export interface Evidence {
  /** The ledgers of all processes, in the order of time. */
  readonly entries: readonly Entry[];
  /** What is left in the job table. */
  readonly rows: readonly Row[];
  /** The keys of the business rows that were committed. */
  readonly orders: ReadonlySet<string>;
}

/** The entries of one kind of fact. */
export type EntryOf<F extends Fact['fact']> = Extract<Entry, { readonly fact: F }>;

export function entriesOf<F extends Fact['fact']>(entries: readonly Entry[], fact: F): readonly EntryOf<F>[] {
  return entries.filter((entry): entry is EntryOf<F> => entry.fact === fact);
}

/** Something that must not be. */
export interface Problem {
  readonly what: string;
  /** The job it is about, if any. */
  readonly key?: string | undefined;
  /** The process it is about, if any. */
  readonly pid?: number | undefined;
}
