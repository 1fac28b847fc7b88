import type { Kind } from '../ledger/fact.js';
import { terms } from '../terms.js';
import type { Disturbances } from './disturbances.js';
import type { JobFile, Run } from './job-file.js';

/** The kinds whose jobs end `failed`, and the attempts that they get. */
const failing: Readonly<Partial<Record<Kind, number>>> = {
  doomed: terms.doomedRetries + 1,
  timeout: terms.timeoutRetries + 1,
};

/** Says what is wrong with one job; nothing where its account balances. */
export function auditJob(file: JobFile, disturbances: Disturbances): readonly string[] {
  const { asked } = file;
  if (asked === undefined) return ['nobody asked for this job'];
  return [
    ...auditExistence(file),
    ...auditRepeats(file, disturbances),
    ...auditAttempts(file, disturbances),
    ...auditEnding(file, asked.kind),
  ];
}

/** An acknowledged job exists, a rolled-back one does not, and a job in a transaction exists just when its business row does. */
function auditExistence({ asked, acked, runs, rows, hasOrder }: JobFile): readonly string[] {
  const exists = runs.length > 0 || rows.length > 0;
  const ids = new Set([...rows.map(({ id }) => id), ...runs.map(({ start }) => start.id)]);
  if (acked !== undefined) ids.add(acked.id);
  return [
    ...(acked !== undefined && !exists ? ['it was acknowledged, never ran, and has no row'] : []),
    ...(asked?.fate === 'rollback' && exists ? ['its transaction was rolled back, and it exists'] : []),
    ...(asked?.fate === 'rollback' && hasOrder ? ['its transaction was rolled back, and its business row exists'] : []),
    ...(asked?.fate === 'commit' && exists !== hasOrder
      ? [`its business row ${hasOrder ? 'exists' : 'does not exist'}, and the job ${exists ? 'does' : 'does not'}`]
      : []),
    ...(ids.size > 1 ? [`it exists ${ids.size} times: ${[...ids].join(', ')}`] : []),
  ];
}

/** A run is followed by another one only if it failed by itself, was given back, or its process may have lost the claim. */
function auditRepeats({ runs }: JobFile, disturbances: Disturbances): readonly string[] {
  return runs.slice(0, -1).flatMap((run, index) => {
    const next = runs[index + 1];
    if (next === undefined || isOver(run, next) || mayBeLost(run, next, disturbances)) return [];
    const how = run.end === undefined || run.end.at > next.start.at ? 'was still under way' : 'had completed';
    return [`run ${next.start.run} began although run ${run.start.run}, which nothing interrupted, ${how}`];
  });
}

function isOver({ end }: Run, next: Run): boolean {
  return end?.how === 'threw' && end.at <= next.start.at;
}

function mayBeLost({ start, end }: Run, next: Run, disturbances: Disturbances): boolean {
  return disturbances.mayHaveLost(start.pid, start.at, end?.at, next.start.at);
}

/** Each attempt is one more than the failures before it; a failure whose outcome may have been lost may count or not. */
function auditAttempts({ runs, rows }: JobFile, disturbances: Disturbances): readonly string[] {
  const problems: string[] = [];
  let least = 0;
  let most = 0;
  for (const [index, run] of runs.entries()) {
    const { run: name, attempt } = run.start;
    if (attempt < least + 1 || attempt > most + 1) {
      problems.push(`run ${name} was attempt ${attempt}, after ${range(least, most)} failed ones`);
    }
    if (!isFailure(run)) continue;
    most += 1;
    const next = runs[index + 1]?.start.at ?? Infinity;
    if (!disturbances.mayHaveLost(run.start.pid, run.start.at, run.end?.at, next)) least += 1;
  }
  const counted = rows[0]?.attempts ?? least;
  if (counted < least || counted > most) problems.push(`its row counts ${counted} attempts of ${range(least, most)}`);
  return problems;
}

/** An error after the order to end costs nothing; after a timeout it is the timeout that counts. */
function isFailure({ end }: Run): boolean {
  return end?.how === 'threw' && (end.aborted === undefined || end.aborted === 'timeout');
}

function range(least: number, most: number): string {
  return least === most ? String(least) : `${least} to ${most}`;
}

/** Once all is drained a job is gone after a success, or has failed for the reason of its kind. */
function auditEnding({ key, runs, rows }: JobFile, kind: Kind): readonly string[] {
  const [row] = rows;
  const hasCompleted = runs.some(({ end }) => end?.how === 'completed');
  const ending = row === undefined ? 'gone' : `${row.status} (${row.last_error ?? 'no error'})`;
  if (row === undefined && runs.length > 0 && !hasCompleted) return ['it is gone and no run of it completed'];
  if (row !== undefined && row.status !== 'failed') return [`it is left ${ending}`];
  if (kind === 'suicide') return auditSuicide(runs, row);
  const attempts = failing[kind];
  if (attempts === undefined) return row === undefined ? [] : [`it should have succeeded and is ${ending}`];
  if (row === undefined) return [];
  const isOwnError = kind === 'timeout' ? row.last_error?.startsWith('timed out') : row.last_error?.includes(key);
  if (isOwnError !== true || row.attempts !== attempts) return [`it should have failed by itself and is ${ending}`];
  return [];
}

/** It takes its process with it each time, until it has been interrupted as often as may be. */
function auditSuicide(runs: readonly Run[], row: JobFile['rows'][number] | undefined): readonly string[] {
  if (runs.length === 0 && row === undefined) return [];
  const limit = terms.maxInterruptions;
  return [
    ...(runs.length > limit ? [`it killed ${runs.length} processes; the limit is ${limit}`] : []),
    ...(row?.interruptions === limit ? [] : [`it should have failed after ${limit} interruptions`]),
  ];
}
