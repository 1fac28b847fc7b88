import { defaultQueue } from '../../model/queue-name.js';
import type { NewRow } from './job-row.js';

type Value = string | number | null;

/** A column that most jobs leave as it is. */
export interface ExtraColumn {
  readonly name: string;
  /** PostgreSQL's type of it and of its inputs. */
  readonly type: 'text' | 'integer' | 'bigint' | 'uuid';
  /** What is bound for a job; all null where it says nothing. */
  readonly inputs: readonly ((row: NewRow) => Value)[];
  /** The value, from the inputs as they stand in a statement, and its epoch milliseconds. */
  readonly sql: (inputs: readonly string[], nowMs: string) => string;
  /** The same, worked out here. */
  readonly valueAt: (row: NewRow, now: number) => Value;
}

const extraColumns: readonly ExtraColumn[] = [
  plain('queue', 'text', { valueOf: ({ queue }) => queue, fallback: defaultQueue }),
  plain('priority', 'integer', { valueOf: ({ priority }) => priority, fallback: 0 }),
  plain('timeout', 'bigint', { valueOf: ({ timeoutMs }) => timeoutMs }),
  plain('unique_key', 'text', { valueOf: ({ uniqueKey }) => uniqueKey }),
  plain('job_key', 'text', { valueOf: ({ key }) => key }),
  plain('context', 'text', { valueOf: ({ context }) => context }),
  plain('tags', 'text', { valueOf: ({ tags }) => tags }),
  {
    name: 'expires_at',
    type: 'bigint',
    inputs: [({ expiresAt }) => expiresAt, ({ expiresInMs }) => expiresInMs],
    sql: ([at, within], nowMs) => `COALESCE(${at}, ${nowMs} + ${within})`,
    valueAt: expiryAt,
  },
  plain('batch_id', 'uuid', { valueOf: ({ batchId }) => batchId }),
  plain('follows', 'text', { valueOf: ({ follows }) => follows }),
];

/** The columns that at least one of these jobs fills: an insert names no others, so that plain jobs do not pay for them. */
export function extraColumnsOf(rows: readonly NewRow[]): readonly ExtraColumn[] {
  return extraColumns.filter(({ inputs }) => inputs.some((input) => rows.some((row) => input(row) !== null)));
}

/** Epoch milliseconds at which a job expires that is stored now; null for never. */
export function expiryAt({ expiresAt, expiresInMs }: NewRow, now: number): number | null {
  return expiresAt ?? (expiresInMs === null ? null : now + expiresInMs);
}

interface PlainColumn {
  readonly valueOf: (row: NewRow) => Value;
  /** What stands there where a job says nothing. Default: null. */
  readonly fallback?: string | number;
}

function plain(name: string, type: ExtraColumn['type'], { valueOf, fallback }: PlainColumn): ExtraColumn {
  const literal = typeof fallback === 'string' ? `'${fallback}'` : fallback;
  return {
    name,
    type,
    inputs: [valueOf],
    sql: ([value = 'NULL']) => (literal === undefined ? value : `COALESCE(${value}, ${literal})`),
    valueAt: (row) => valueOf(row) ?? fallback ?? null,
  };
}
