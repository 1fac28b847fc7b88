import { enqueueResult, type EnqueueOutcome, type EnqueueResult } from '../model/enqueue-result.js';
import type { NewJob } from '../model/job.js';
import { scopedKey } from '../model/unique-key.js';

/** Jobs of one call that are after the same key, or the same slot of a throttle. Any other job is the only one of its kind. */
export interface Rivals {
  /** The one that may be stored for all of them: the first one's id, with what the last one that replaces says. */
  readonly lead: NewJob;
  readonly all: readonly NewJob[];
}

/** What has become of the lead, or which job stands in its way. */
export interface Decision {
  readonly id: string;
  readonly outcome: EnqueueOutcome;
}

/** Puts together who would stand in each other's way. In the order of their keys, so that no two calls wait for each other in a circle. */
export function groupRivals(jobs: readonly NewJob[]): readonly Rivals[] {
  const alone: Rivals[] = [];
  const groups = new Map<string, [NewJob, ...NewJob[]]>();
  for (const job of jobs) {
    const name = nameOf(job);
    const group = name === undefined ? undefined : groups.get(name);
    if (name === undefined) alone.push({ lead: job, all: [job] });
    else if (group === undefined) groups.set(name, [job]);
    else group.push(job);
  }
  const names = [...groups.keys()].toSorted();
  return [...alone, ...names.flatMap((name) => rivalsOf(groups.get(name)))];
}

/** The answer for each job, in the order of the call. */
export function answersOf(jobs: readonly NewJob[], decided: ReadonlyMap<Rivals, Decision>): readonly EnqueueResult[] {
  const answers = new Map<NewJob, EnqueueResult>();
  for (const [rivals, { id, outcome }] of decided) {
    for (const job of rivals.all) answers.set(job, enqueueResult(id, outcomeFor(job, rivals, outcome)));
  }
  return jobs.map((job) => answers.get(job) ?? enqueueResult(job.id, 'stored'));
}

function nameOf({ type, uniqueKey, throttle }: NewJob): string | undefined {
  if (uniqueKey !== undefined) return `key ${scopedKey(type, uniqueKey)}`;
  return throttle === undefined ? undefined : `slot ${scopedKey(type, throttle.key)}`;
}

function rivalsOf(group: readonly [NewJob, ...NewJob[]] | undefined): readonly Rivals[] {
  if (group === undefined) return [];
  const [first] = group;
  const newest = group.findLast(({ onDuplicate }) => onDuplicate === 'replace');
  return [{ lead: newest === undefined ? first : { ...newest, id: first.id }, all: group }];
}

function outcomeFor(job: NewJob, { lead, all }: Rivals, outcome: EnqueueOutcome): EnqueueOutcome {
  if (outcome !== 'stored' && outcome !== 'replaced') return outcome;
  const isFirst = job === all[0];
  if (outcome === 'stored' && isFirst) return 'stored';
  if (job.throttle !== undefined) return 'throttled';
  const isReplacing = job.onDuplicate === 'replace' || (isFirst && lead.onDuplicate !== 'replace');
  return isReplacing ? 'replaced' : 'waiting';
}
