import type { Entry } from './ledger/fact.js';
import type { Evidence, Problem } from './audit/evidence.js';
import type { Figures } from './audit/figures.js';
import { jobFiles } from './audit/job-file.js';

/** Problems told in full; the others of a run that is that wrong are mostly the same. */
const mostTold = 5;

/** The numbers of a run, for people. */
export function describeFigures(figures: Figures): readonly string[] {
  const { recoveries, afterRestarts, harm } = figures;
  const count = (what: keyof Figures['harm']): number => harm[what] ?? 0;
  return [
    `jobs: ${figures.asked} asked for, ${figures.acknowledged} acknowledged, ${figures.rolledBack} rolled back, ${figures.unanswered} without an answer`,
    `runs: ${figures.runs}; jobs that completed ${figures.completed}, failed ${figures.failed}`,
    `processes: ${figures.processes} started, ${count('kill')} killed, ${count('terminate')} terminated, ${count('stop')} stopped, ${figures.killedByJobs} killed by jobs, ${figures.failedBoots} without a database`,
    `connections: ${count('cut')} cut, ${count('deafen')} deafened, ${count('stall')} stalled, ${count('refuse')} refused, ${count('freeze')} frozen; ${count('lock')} locks of the file`,
    `database: ${count('restart')} restarts, ${count('crash')} crashes; first job afterwards within ${spread(afterRestarts)}`,
    `interruptions: ${figures.interruptions} runs, ${figures.repeats} repeats; recovery after a death ${spread(recoveries)}`,
    `completed before a death and repeated: ${figures.repeatedOutcomes.at(-1) ?? 0} jobs at the most, ended up to ${Math.round(figures.oldestRepeatedMs)} ms before it (${figures.repeatedOutcomes.length} deaths)`,
    `longest stop ${Math.round(figures.longestStopMs)} ms; longest time an event loop stood still ${Math.round(figures.longestLagMs)} ms`,
  ];
}

function spread(ascending: readonly number[]): string {
  if (ascending.length === 0) return '(none)';
  const p50 = ascending[Math.floor((ascending.length - 1) / 2)] ?? 0;
  return `p50 ${Math.round(p50)} ms, max ${Math.round(ascending.at(-1) ?? 0)} ms (${ascending.length})`;
}

/** What does not balance, with all that is known of the jobs and processes at fault. */
export function describeProblems(problems: readonly Problem[], evidence: Evidence): readonly string[] {
  const told = problems.slice(0, mostTold).flatMap((problem) => [titleOf(problem), ...historyOf(problem, evidence)]);
  const rest = problems.slice(mostTold).map(titleOf);
  return [...told, ...rest];
}

function titleOf({ what, key, pid }: Problem): string {
  return `PROBLEM ${key === undefined ? '' : `job ${key}: `}${what}${pid === undefined ? '' : ` (process ${pid})`}`;
}

function historyOf({ key, pid }: Problem, evidence: Evidence): readonly string[] {
  const { entries } = evidence;
  const origin = entries[0]?.at ?? 0;
  if (key === undefined) return entries.filter((entry) => entry.pid === pid && isTelling(entry)).map(line(origin));
  const file = jobFiles(evidence).get(key);
  const runs = file?.runs ?? [];
  const pids = new Set(runs.map(({ start }) => start.pid));
  const members = new Set(runs.map(({ start }) => start.member));
  const id = file?.acked?.id ?? runs[0]?.start.id;
  const from = Math.min(...entries.filter((entry) => 'key' in entry && entry.key === key).map(({ at }) => at));
  const isAbout = (entry: Entry): boolean =>
    ('key' in entry && entry.key === key) ||
    (entry.fact === 'log' && id !== undefined && entry.line.includes(id)) ||
    (entry.at >= from - 5_000 && entry.fact === 'harm' && (members.has(entry.member) || entry.pid === 0)) ||
    (pids.has(entry.pid) && ['exit', 'lag', 'stopping', 'stopped'].includes(entry.fact));
  return [
    ...entries.filter(isAbout).map(line(origin)),
    ...(file?.rows ?? []).map((row) => `    row ${JSON.stringify(row)}`),
  ];
}

function isTelling({ fact }: Entry): boolean {
  return !['start', 'end', 'asked', 'acked', 'refused'].includes(fact);
}

function line(origin: number): (entry: Entry) => string {
  return ({ at, member, pid, ...fact }) =>
    `    ${((at - origin) / 1_000).toFixed(3).padStart(9)} s  ${member} (${pid})  ${JSON.stringify(fact)}`;
}
