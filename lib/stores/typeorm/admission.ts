import type { Clock } from '../../model/clock.js';
import type { EnqueueResult } from '../../model/enqueue-result.js';
import { StoreError } from '../../model/errors.js';
import type { NewJob } from '../../model/job.js';
import { JobState } from '../../model/job-state.js';
import { scopedKey } from '../../model/unique-key.js';
import { answersOf, groupRivals, type Decision, type Rivals } from '../rivals.js';
import { toText, type Row } from './job-row.js';
import { pause } from './retry.js';

/** A job that holds a key. */
export interface Holder {
  readonly id: string;
  readonly isRunning: boolean;
  /** It waits, but its time is over: it will never run. */
  readonly isExpired: boolean;
}

/** The statements of one database, all on one connection. None of them waits for a job that runs. */
export interface AdmissionSteps {
  /** Stores jobs about which there is no condition. */
  insert(jobs: readonly NewJob[]): Promise<void>;
  /** Stores those whose key is free. Returns the ids of those stored. */
  insertAbsent(jobs: readonly NewJob[]): Promise<ReadonlySet<string>>;
  /** Who holds the keys of these jobs now, by `scopedKey`. */
  holders(jobs: readonly NewJob[]): Promise<ReadonlyMap<string, Holder>>;
  /** Gives the pending job of this id what `job` says. Returns whether it could: not where it is claimed, gone or locked. */
  replace(id: string, job: NewJob): Promise<boolean>;
  /** Takes the slot of a throttle where it is free. Returns the id of the job that has it now. */
  takeSlot(job: NewJob): Promise<string>;
}

/** How long a job is tried to be replaced that others keep locked. */
const patienceMs = 10_000;
const longestPauseMs = 100;

/**
 * Decides about jobs with conditions, on databases that many processes share: nothing is looked at first and then relied on. What is stored is stored by a
 * statement that the database itself makes exact; only afterwards it is looked who stood in the way, and whoever has left meanwhile is no reason to
 * give up.
 */
export async function admitJobs(
  jobs: readonly NewJob[],
  steps: AdmissionSteps,
  clock: Clock,
): Promise<readonly EnqueueResult[]> {
  const decided = new Map<Rivals, Decision>();
  const rivals = groupRivals(jobs);
  const keyed = rivals.filter(({ lead }) => lead.uniqueKey !== undefined);
  const free: NewJob[] = rivals.filter(({ lead }) => isFree(lead)).map(({ lead }) => lead);
  for (const each of rivals) {
    if (each.lead.throttle === undefined) continue;
    const id = await steps.takeSlot(each.lead);
    if (id === each.lead.id) free.push(each.lead);
    decided.set(each, { id, outcome: id === each.lead.id ? 'stored' : 'throttled' });
  }
  if (free.length > 0) await steps.insert(free);
  await admitKeyed(keyed, { steps, decided, clock });
  return answersOf(jobs, decided);
}

interface Deciding {
  readonly steps: AdmissionSteps;
  readonly decided: Map<Rivals, Decision>;
  readonly clock: Clock;
}

async function admitKeyed(rivals: readonly Rivals[], deciding: Deciding): Promise<void> {
  const { steps, clock } = deciding;
  const givesUpAt = clock.monotonic() + patienceMs;
  let left = rivals;
  for (let round = 0; left.length > 0; round += 1) {
    if (round > 0) await rest(round, givesUpAt, clock);
    const stored = await steps.insertAbsent(left.map(({ lead }) => lead));
    left = left.filter((each) => !settleStored(each, stored, deciding));
    if (left.length === 0) return;
    const holders = await steps.holders(left.map(({ lead }) => lead));
    const undecided: Rivals[] = [];
    for (const each of left) if (!(await decide(each, holders, deciding))) undecided.push(each);
    left = undecided;
  }
}

function settleStored(rivals: Rivals, stored: ReadonlySet<string>, { decided }: Deciding): boolean {
  const { id } = rivals.lead;
  if (!stored.has(id)) return false;
  decided.set(rivals, { id, outcome: 'stored' });
  return true;
}

/** Says whether it could be decided: not where the holder has left, or is just being claimed. */
async function decide(
  rivals: Rivals,
  holders: ReadonlyMap<string, Holder>,
  { steps, decided }: Deciding,
): Promise<boolean> {
  const { lead } = rivals;
  const holder = holders.get(scopedKey(lead.type, lead.uniqueKey ?? ''));
  if (holder === undefined) return false;
  const { id, isRunning, isExpired } = holder;
  // What has expired will never run; to leave it to that would lose this job too.
  const isReplacing = !isRunning && (lead.onDuplicate === 'replace' || isExpired);
  if (isReplacing && !(await steps.replace(id, lead))) return false;
  decided.set(rivals, { id, outcome: isRunning ? 'running' : isReplacing ? 'replaced' : 'waiting' });
  return true;
}

/** At first there is no need: whoever stood in the way has just left. */
async function rest(round: number, givesUpAt: number, clock: Clock): Promise<void> {
  if (clock.monotonic() > givesUpAt) {
    throw new StoreError(
      'another transaction keeps the job with this uniqueKey locked, so that it could not be replaced; nothing was stored',
    );
  }
  if (round > 1) await pause(Math.random() * Math.min(2 ** round, longestPauseMs));
}

function isFree({ uniqueKey, throttle }: NewJob): boolean {
  return uniqueKey === undefined && throttle === undefined;
}

/** Rows of holders, by `scopedKey`. */
export function toHolders(rows: readonly Row[]): ReadonlyMap<string, Holder> {
  return new Map(
    rows.map((row) => [
      scopedKey(toText(row['job_type']), toText(row['unique_key'])),
      {
        id: toText(row['id']),
        isRunning: row['status'] === JobState.Running,
        isExpired: row['is_expired'] === true || Number(row['is_expired']) === 1,
      },
    ]),
  );
}
