import { JobState } from '../model/job-state.js';
import { partsOfOwner } from '../runtime/process-identity.js';
import type { ClaimCount, StateCount } from '../stores/job-queries.js';

/** A number of jobs. */
export interface JobCount {
  readonly count: number;
  /** `false`: there are more; they were not counted any further. */
  readonly isExact: boolean;
}

/** How many jobs there are in each state. */
export type CountsByState = Readonly<Record<JobState, JobCount>>;

/** How many jobs there are. */
export interface JobCounts {
  readonly total: CountsByState;
  /** Of each type that has jobs, in the order of their names. */
  readonly types: readonly { readonly type: string; readonly states: CountsByState }[];
}

/** A process that holds running jobs. */
export interface JobProcess {
  /** As it stands in the column `claimed_by`, and in `JobRecord.claimedBy`. */
  readonly name: string;
  /** Name of its machine, or container. */
  readonly host: string | undefined;
  /** Its process number there. */
  readonly pid: number | undefined;
  /** Whether its lease stands. If not, it is dead or has lost its connection, and others are about to take over its jobs. */
  readonly isAlive: boolean;
  /** What it holds: jobs that run in it, and those that it has claimed ahead of free workers. */
  readonly holds: readonly { readonly type: string; readonly count: number }[];
}

const none: JobCount = { count: 0, isExact: true };

export function toCounts(found: readonly StateCount[]): JobCounts {
  const byType = grouped(found, ({ type }) => type);
  const types = [...byType].map(([type, counts]) => ({ type, states: byState(counts) }));
  return { total: byState(found), types: types.toSorted((a, b) => (a.type < b.type ? -1 : 1)) };
}

export function toProcesses(claims: readonly ClaimCount[]): readonly JobProcess[] {
  return [...grouped(claims, ({ owner }) => owner)].map(([name, held]) => ({
    name,
    ...partsOfOwner(name),
    isAlive: held.some(({ endsInMs }) => endsInMs > 0),
    holds: held.map(({ type, count }) => ({ type, count })),
  }));
}

/** `Map.groupBy`, which Node 20 does not have. */
function grouped<T>(values: readonly T[], keyOf: (value: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value)) ?? [];
    group.push(value);
    groups.set(keyOf(value), group);
  }
  return groups;
}

function byState(counts: readonly StateCount[]): CountsByState {
  const sumOf = (state: JobState): JobCount => counts.filter((one) => one.state === state).reduce(add, none);
  return {
    pending: sumOf(JobState.Pending),
    running: sumOf(JobState.Running),
    completed: sumOf(JobState.Completed),
    failed: sumOf(JobState.Failed),
    cancelled: sumOf(JobState.Cancelled),
  };
}

function add(sum: JobCount, { count, isExact }: JobCount): JobCount {
  return { count: sum.count + count, isExact: sum.isExact && isExact };
}
