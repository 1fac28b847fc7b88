import type { Lease } from '../../model/job.js';
import type { LostLease } from '../job-store.js';
import type { Row } from './job-row.js';

/**
 * Says of lost claims which were cancelled: their attempts end for another reason than those of a worker that was too slow. Costs
 * a look only where there are any.
 *
 * @param look Reads the ids of those among these jobs that are cancelled now.
 */
export async function tellCancelled(
  lost: readonly Lease[],
  look: (lost: readonly Lease[]) => Promise<readonly Row[]>,
): Promise<readonly LostLease[]> {
  return lost.length === 0 ? lost : markCancelled(lost, await look(lost));
}

/** The same beside an answer that must not get lost over it: what cannot be told is just lost. */
export async function tryTellCancelled(
  lost: readonly Lease[],
  look: (lost: readonly Lease[]) => Promise<readonly Row[]>,
): Promise<readonly LostLease[]> {
  try {
    return await tellCancelled(lost, look);
  } catch {
    return lost;
  }
}

/** @param rows Those of the cancelled jobs, each with its id. */
export function markCancelled(lost: readonly Lease[], rows: readonly Row[]): readonly LostLease[] {
  const cancelled = new Set(rows.map((row) => row['id']));
  return lost.map(({ id, token }) => (cancelled.has(id) ? { id, token, isCancelled: true } : { id, token }));
}
