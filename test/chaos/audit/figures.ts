import type { Entry, Harm } from '../ledger/fact.js';
import { Disturbances } from './disturbances.js';
import { entriesOf, type Evidence } from './evidence.js';
import { jobFiles, type JobFile, type Run } from './job-file.js';

/** The numbers of a run. */
export interface Figures {
  readonly asked: number;
  readonly acknowledged: number;
  readonly rolledBack: number;
  readonly unanswered: number;
  readonly runs: number;
  readonly completed: number;
  readonly failed: number;
  readonly harm: Readonly<Partial<Record<Harm, number>>>;
  /** Processes that were started, those that a job killed, and those that found no database. */
  readonly processes: number;
  readonly killedByJobs: number;
  readonly failedBoots: number;
  /** Runs whose process died, or that were told to end since their claim was lost. */
  readonly interruptions: number;
  /** Runs that began after an interrupted one of the same job. */
  readonly repeats: number;
  /** From each death of a process to the first further run of one of its jobs, milliseconds, ascending. */
  readonly recoveries: readonly number[];
  /** Of each death, how many of its jobs ran again although they had completed, ascending; and how long before it the first of them all had. */
  readonly repeatedOutcomes: readonly number[];
  readonly oldestRepeatedMs: number;
  /** From the end of each restart of the database to the next start of a job, milliseconds, ascending. */
  readonly afterRestarts: readonly number[];
  readonly longestStopMs: number;
  readonly longestLagMs: number;
}

export function figuresOf(evidence: Evidence): Figures {
  const { entries, rows } = evidence;
  const disturbances = new Disturbances(entries);
  const files = [...jobFiles(evidence).values()];
  const asked = entriesOf(entries, 'asked');
  const pairs = interruptedPairs(files, disturbances);
  const repeated = repeatedOutcomesOf(pairs, entries);
  return {
    asked: asked.length,
    acknowledged: entriesOf(entries, 'acked').length,
    rolledBack: asked.filter(({ fate }) => fate === 'rollback').length,
    unanswered: entriesOf(entries, 'refused').length,
    runs: entriesOf(entries, 'start').length,
    completed: files.filter(({ runs }) => runs.some(({ end }) => end?.how === 'completed')).length,
    failed: rows.filter(({ status }) => status === 'failed').length,
    harm: countBy(entriesOf(entries, 'harm').map(({ what }) => what)),
    processes: entriesOf(entries, 'spawned').length,
    killedByJobs: entriesOf(entries, 'suicide').length,
    failedBoots: entriesOf(entries, 'boot failed').length,
    interruptions: files.flatMap(({ runs }) => runs).filter(hasLostItsClaim).length,
    repeats: pairs.length,
    recoveries: recoveriesOf(pairs, entries).map(({ ms }) => ms),
    repeatedOutcomes: [...repeated.values()].map(({ count }) => count).toSorted((a, b) => a - b),
    oldestRepeatedMs: Math.max(0, ...[...repeated.values()].map(({ oldestMs }) => oldestMs)),
    afterRestarts: afterRestartsOf(entries),
    longestStopMs: longestStop(entries),
    longestLagMs: Math.max(0, ...entriesOf(entries, 'lag').map(({ ms }) => ms)),
  };
}

function pairsOf({ runs }: JobFile): readonly (readonly [Run, Run])[] {
  return runs.slice(1).map((next, index) => [runs[index] ?? next, next]);
}

function hasLostItsClaim({ end }: Run): boolean {
  return end === undefined || end.aborted === 'lease lost';
}

function wasInterrupted({ start, end }: Run, next: Run, disturbances: Disturbances): boolean {
  if (end?.how === 'threw' && end.at <= next.start.at) return false;
  return disturbances.mayHaveLost(start.pid, start.at, end?.at, next.start.at);
}

/** The first further run of a job of a process that died. */
export interface Recovery {
  readonly pid: number;
  readonly diedAt: number;
  readonly ms: number;
}

/** The recoveries of a run, the quickest first. */
export function findRecoveries(evidence: Evidence, disturbances: Disturbances): readonly Recovery[] {
  return recoveriesOf(interruptedPairs([...jobFiles(evidence).values()], disturbances), evidence.entries);
}

type Pair = readonly [Run, Run];

function interruptedPairs(files: readonly JobFile[], disturbances: Disturbances): readonly Pair[] {
  return files.flatMap(pairsOf).filter(([run, next]) => wasInterrupted(run, next, disturbances));
}

/** For each death the first of its jobs: the others may have to wait their turn behind jobs that are due. */
function recoveriesOf(pairs: readonly Pair[], entries: readonly Entry[]): readonly Recovery[] {
  const deaths = deathsOf(entries);
  const first = new Map<number, Recovery>();
  for (const [{ start }, next] of pairs) {
    const diedAt = deaths.get(start.pid) ?? Infinity;
    const ms = next.start.at - diedAt;
    if (ms >= 0 && ms < (first.get(start.pid)?.ms ?? Infinity)) first.set(start.pid, { pid: start.pid, diedAt, ms });
  }
  return [...first.values()].toSorted((a, b) => a.ms - b.ms);
}

/** What ran again after the death of a process although it had completed there. */
export interface Repeated {
  readonly count: number;
  /** How long before the death the first of them had completed. */
  readonly oldestMs: number;
}

/** By process, of those that died. */
export function findRepeated(evidence: Evidence, disturbances: Disturbances): ReadonlyMap<number, Repeated> {
  return repeatedOutcomesOf(interruptedPairs([...jobFiles(evidence).values()], disturbances), evidence.entries);
}

function repeatedOutcomesOf(pairs: readonly Pair[], entries: readonly Entry[]): ReadonlyMap<number, Repeated> {
  const deaths = deathsOf(entries);
  const repeated = new Map<number, Repeated>();
  for (const [{ start, end }, next] of pairs) {
    const diedAt = deaths.get(start.pid) ?? Infinity;
    if (end?.how !== 'completed' || diedAt < end.at || diedAt > next.start.at) continue;
    const { count, oldestMs } = repeated.get(start.pid) ?? { count: 0, oldestMs: 0 };
    repeated.set(start.pid, { count: count + 1, oldestMs: Math.max(oldestMs, diedAt - end.at) });
  }
  return repeated;
}

function deathsOf(entries: readonly Entry[]): ReadonlyMap<number, number> {
  return new Map(entriesOf(entries, 'exit').map(({ pid, at }) => [pid, at]));
}

function afterRestartsOf(entries: readonly Entry[]): readonly number[] {
  const starts = entriesOf(entries, 'start');
  return entriesOf(entries, 'harm')
    .filter(({ what }) => what === 'restart' || what === 'crash')
    .map(({ at, ms }) => (starts.find((start) => start.at > at + ms)?.at ?? Infinity) - at - ms)
    .toSorted((a, b) => a - b);
}

function longestStop(entries: readonly Entry[]): number {
  const stopped = new Map(entriesOf(entries, 'stopped').map(({ pid, at }) => [pid, at]));
  return Math.max(0, ...entriesOf(entries, 'stopping').map(({ pid, at }) => (stopped.get(pid) ?? at) - at));
}

function countBy<K extends string>(values: readonly K[]): Partial<Record<K, number>> {
  const counts: Partial<Record<K, number>> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
