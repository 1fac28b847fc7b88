import type { EnqueueResult } from '../../model/enqueue-result.js';
import type { NewJob } from '../../model/job.js';
import type { TextMaker } from './admin/sql-text.js';
import type { Firing } from './dialects/sql-dialect.js';

/** The steps of a transaction in which a slot is taken and its job is stored. */
export interface FiringSteps {
  /** Answers with the number of rows that were changed. */
  readonly write: (make: TextMaker) => Promise<number>;
  readonly admit: (jobs: readonly NewJob[]) => Promise<readonly EnqueueResult[]>;
}

/** See `SqlDialect.fire`. */
export async function fireBy({ write, admit }: FiringSteps, { take, job, note }: Firing): Promise<string | undefined> {
  if ((await write(take)) === 0) return undefined;
  const [result] = await admit([job]);
  const id = result?.id ?? job.id;
  if (id !== job.id) await write(note(id));
  return id;
}
