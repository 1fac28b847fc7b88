import type { Entry } from '../ledger/fact.js';
import { terms } from '../terms.js';
import type { Disturbances } from './disturbances.js';
import { entriesOf, type EntryOf, type Problem } from './evidence.js';

/** As the documentation says: a stop takes `shutdownTimeout` and about two seconds; and a margin for a busy machine. */
const longestStopMs = terms.shutdownMs + 2_000 + 1_500;

/** Says which processes ended in a way that nobody did to them, or were warned by Node, and which stops took too long. */
export function auditProcesses(entries: readonly Entry[], disturbances: Disturbances): readonly Problem[] {
  const crashes = entriesOf(entries, 'crash').map(({ pid, error }) => ({
    what: `an error nobody caught: ${error}`,
    pid,
  }));
  const warnings = entriesOf(entries, 'warning').map(({ pid, text }) => ({ what: `Node warned: ${text}`, pid }));
  const exits = entriesOf(entries, 'exit').flatMap((exit) => auditExit(exit, entries, disturbances));
  return [...crashes, ...warnings, ...exits, ...auditStops(entries)];
}

function auditExit(exit: EntryOf<'exit'>, entries: readonly Entry[], disturbances: Disturbances): readonly Problem[] {
  const { pid, code, signal, at } = exit;
  const own = entries.filter((entry) => entry.pid === pid);
  const isKilled = own.some((entry) => entry.fact === 'suicide' || (entry.fact === 'harm' && entry.what === 'kill'));
  const isTerminated = own.some(
    (entry) => entry.fact === 'dismissed' || (entry.fact === 'harm' && entry.what === 'terminate'),
  );
  if (signal === 'SIGKILL' && isKilled) return [];
  if ((code === 0 || signal === 'SIGTERM') && isTerminated) return [];
  const booted = own.find((entry) => entry.fact === 'boot failed');
  const spawnedAt = own[0]?.at ?? at;
  if (booted !== undefined && disturbances.any(pid, spawnedAt, booted.at)) return [];
  const why = booted?.fact === 'boot failed' ? `: ${booted.error}` : '';
  return [{ what: `a process ended by itself, code ${code}, signal ${signal}${why}`, pid }];
}

function auditStops(entries: readonly Entry[]): readonly Problem[] {
  return entriesOf(entries, 'stopping').flatMap(({ pid, at }) => {
    const end = entries.find((entry) => entry.pid === pid && (entry.fact === 'stopped' || entry.fact === 'exit'));
    const tookMs = (end?.at ?? Infinity) - at;
    const stoodStill = entries.some(
      (entry) =>
        entry.pid === pid &&
        ((entry.fact === 'harm' && entry.what === 'stop' && entry.at + entry.ms >= at) ||
          (entry.fact === 'lag' && entry.at >= at)),
    );
    return tookMs > longestStopMs && !stoodStill ? [{ what: `a stop took ${Math.round(tookMs)} ms`, pid }] : [];
  });
}
