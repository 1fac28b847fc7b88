import type { NewJob } from '../../model/job.js';
import { defaultQueue } from '../../model/queue-name.js';

/** A column that most jobs leave at its default. */
export interface ExtraColumn {
  readonly name: string;
  /** PostgreSQL's type of the value. */
  readonly type: 'text' | 'integer' | 'bigint';
  /** What the column has where a job says nothing, as SQL. */
  readonly fallback: string;
  /** Null where the job says nothing. */
  readonly valueOf: (job: NewJob) => string | number | null;
}

const extraColumns: readonly ExtraColumn[] = [
  { name: 'queue', type: 'text', fallback: `'${defaultQueue}'`, valueOf: ({ queue }) => queue ?? null },
  { name: 'priority', type: 'integer', fallback: '0', valueOf: ({ priority }) => priority ?? null },
];

/** The columns that at least one of these jobs fills: an insert names no others, so that plain jobs do not pay for them. */
export function extraColumnsOf(jobs: readonly NewJob[]): readonly ExtraColumn[] {
  return extraColumns.filter(({ valueOf }) => jobs.some((job) => valueOf(job) !== null));
}
