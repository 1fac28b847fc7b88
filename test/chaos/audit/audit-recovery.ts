import { everybody, type Entry } from '../ledger/fact.js';
import { queueOptions, terms } from '../terms.js';
import type { Disturbances } from './disturbances.js';
import { entriesOf, type Evidence, type Problem } from './evidence.js';
import { findRecoveries, findRepeated, type Recovery } from './figures.js';

/** As is promised, within a lease and a poll; and a wide margin, since those who recover are disturbed as well. */
const longestRecoveryMs = terms.leaseMs + Number(queueOptions.pollInterval) + 10_000;
/** As the documentation says, for each of the two queues: no more jobs than that have ended without the store knowing. */
const mostRepeated = terms.workers + terms.sideWorkers + 2 * terms.prefetch;
/** The longest pause of a worker after an outage. */
const afterOutageMs = 6_000;

/** Says of which dead processes the jobs were left for too long. */
export function auditRecoveries(evidence: Evidence, disturbances: Disturbances): readonly Problem[] {
  return findRecoveries(evidence, disturbances)
    .filter((recovery) => recovery.ms > longestRecoveryMs + outagesIn(recovery, evidence.entries))
    .map(({ pid, ms }) => ({ what: `no job of it ran again until ${Math.round(ms)} ms after its death`, pid }));
}

/** Says of which dead processes more was repeated than may be. */
export function auditRepeated(evidence: Evidence, disturbances: Disturbances): readonly Problem[] {
  return [...findRepeated(evidence, disturbances)]
    .filter(([, { count }]) => count > mostRepeated)
    .map(([pid, { count }]) => ({
      what: `${count} jobs that had completed in it ran again; at the most ${mostRepeated} may`,
      pid,
    }));
}

/** How long meanwhile nobody could recover anything. */
function outagesIn({ diedAt, ms }: Recovery, entries: readonly Entry[]): number {
  return entriesOf(entries, 'harm')
    .filter((harm) => harm.member === everybody && harm.at <= diedAt + ms && harm.at + harm.ms >= diedAt)
    .reduce((sum, harm) => sum + harm.ms + afterOutageMs, 0);
}
