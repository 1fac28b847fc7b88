import { checkInteger, checkKnownKeys } from '../model/check.js';
import { Histogram } from '../model/histogram.js';
import type { StatisticsRow } from '../stores/statistics.js';

/** Options of `JobsAdmin.statistics`. */
export interface StatisticsOptions {
  /** Milliseconds to look back: a minute to a day. Default 3 600 000, an hour. */
  window?: number | undefined;
}

/** Milliseconds, at most 19 % off; `undefined` where nothing was measured. */
export interface Percentiles {
  /** Half of all took no longer. */
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
}

/** What became of jobs. */
export interface JobTally {
  readonly completed: number;
  /** Ended as failed, too late ones among them. */
  readonly failed: number;
  /** Attempts that failed and were tried again. */
  readonly retried: number;
}

/** What became of the jobs of one type. */
export interface TypeStatistics extends JobTally {
  readonly type: string;
  /** Completed jobs a minute, over the whole window. */
  readonly perMinute: number;
  /** From the moment at which a job was due to the start of its attempt. */
  readonly wait: Percentiles;
  /** How long attempts took. */
  readonly run: Percentiles;
  /** Each minute in which something happened, oldest first; `at` is its begin. */
  readonly minutes: readonly (JobTally & { readonly at: Date })[];
}

/** What became of the jobs of a queue in all processes. */
export interface JobStatistics {
  readonly from: Date;
  readonly until: Date;
  /** In the order of their names. */
  readonly types: readonly TypeStatistics[];
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Milliseconds to look back. @throws InvalidOptionError */
export function resolveStatisticsOptions(options: unknown = {}): number {
  const { window } = checkKnownKeys('the options of statistics', options, ['window']);
  return checkInteger('window', window ?? 3_600_000, minuteMs, dayMs);
}

/** @param until Epoch milliseconds. */
export function toStatistics(rows: readonly StatisticsRow[], until: number, windowMs: number): JobStatistics {
  const types = [...new Set(rows.map(({ type }) => type))].toSorted();
  return {
    from: new Date(until - windowMs),
    until: new Date(until),
    types: types.map((type) =>
      toTypeStatistics(
        rows.filter((row) => row.type === type),
        { type, minutes: windowMs / minuteMs },
      ),
    ),
  };
}

function toTypeStatistics(
  rows: readonly StatisticsRow[],
  { type, minutes }: { readonly type: string; readonly minutes: number },
): TypeStatistics {
  const sum = tallyOf(rows);
  const begins = [...new Set(rows.map(({ minute }) => minute))].toSorted((a, b) => a - b);
  return {
    type,
    ...sum,
    perMinute: sum.completed / minutes,
    wait: percentilesOf(rows.map(({ waits }) => waits)),
    run: percentilesOf(rows.map(({ runs }) => runs)),
    minutes: begins.map((at) => ({ at: new Date(at), ...tallyOf(rows.filter(({ minute }) => minute === at)) })),
  };
}

function tallyOf(rows: readonly StatisticsRow[]): JobTally {
  const sumOf = (key: keyof JobTally): number => rows.reduce((sum, row) => sum + row[key], 0);
  return { completed: sumOf('completed'), failed: sumOf('failed'), retried: sumOf('retried') };
}

function percentilesOf(texts: readonly string[]): Percentiles {
  const all = new Histogram();
  for (const text of texts) all.merge(Histogram.parse(text));
  return { p50: all.quantile(0.5), p95: all.quantile(0.95), p99: all.quantile(0.99) };
}
