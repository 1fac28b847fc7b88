import type { Row } from '../../support/queue-rig.js';
import type { OrderPayload } from '../apps/order-desk.js';
import { entriesOf, type EntryOf, type Evidence } from './evidence.js';

/** One run of a job. */
export interface Run {
  readonly start: EntryOf<'start'>;
  /** Absent where its process ended first. */
  readonly end: EntryOf<'end'> | undefined;
}

/** Everything about one job. */
export interface JobFile {
  readonly key: string;
  readonly asked: EntryOf<'asked'> | undefined;
  readonly acked: EntryOf<'acked'> | undefined;
  /** In the order of their starts. */
  readonly runs: readonly Run[];
  readonly rows: readonly Row[];
  /** Whether the business row of its transaction is there. */
  readonly hasOrder: boolean;
}

/** Sorts the evidence by job. */
export function jobFiles({ entries, rows, orders }: Evidence): ReadonlyMap<string, JobFile> {
  const asked = byKey(entriesOf(entries, 'asked'));
  const acked = byKey(entriesOf(entries, 'acked'));
  const starts = groupBy(entriesOf(entries, 'start'), ({ key }) => key);
  const ends = new Map(entriesOf(entries, 'end').map((end) => [end.run, end]));
  const rowsOf = groupBy(rows, keyOf);
  const keys = new Set([...asked.keys(), ...acked.keys(), ...starts.keys(), ...rowsOf.keys(), ...orders]);
  const file = (key: string): JobFile => ({
    key,
    asked: asked.get(key),
    acked: acked.get(key),
    runs: (starts.get(key) ?? []).map((start) => ({ start, end: ends.get(start.run) })),
    rows: rowsOf.get(key) ?? [],
    hasOrder: orders.has(key),
  });
  return new Map([...keys].map((key) => [key, file(key)]));
}

function keyOf({ payload }: Row): string {
  return (JSON.parse(payload) as OrderPayload).key;
}

function byKey<T extends { readonly key: string }>(entries: readonly T[]): ReadonlyMap<string, T> {
  return new Map(entries.map((entry) => [entry.key, entry]));
}

function groupBy<T>(values: readonly T[], keyOfValue: (value: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOfValue(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
