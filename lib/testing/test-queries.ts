import { decodeHistory } from '../model/attempt-history.js';
import { decodeProgress } from '../model/job-progress.js';
import type { EndedState, JobState } from '../model/job-state.js';
import { decodeLog } from '../model/log-lines.js';
import {
  orderOf,
  type CancelledJob,
  type ChangedJob,
  type ClaimCount,
  type DueJob,
  type JobEdit,
  type JobFilter,
  type JobGroup,
  type JobQueries,
  type JobRow,
  type PageRequest,
  type PayloadWish,
  type StateCount,
} from '../stores/job-queries.js';
import { bounded } from '../stores/typeorm/job-row.js';
import { isHeldByBatch, unclaim, type TestRow } from './test-row.js';
import type { TestTable } from './test-table.js';

export interface TestQueriesParts {
  readonly table: TestTable;
  /** Called when jobs have become due. */
  readonly wake: () => void;
  /** Whether a batch has not ended. */
  readonly isOpen: (batchId: string) => boolean;
}

/** Looks at the jobs of a test and controls them. */
export class TestQueries implements JobQueries {
  private readonly table: TestTable;

  constructor(private readonly parts: TestQueriesParts) {
    this.table = parts.table;
  }

  async count(most: number, group: JobGroup = {}): Promise<readonly StateCount[]> {
    const found = new Map<string, { state: JobState; type: string; count: number }>();
    for (const { state, type } of this.matching(group)) {
      const key = `${state} ${type}`;
      found.set(key, { state, type, count: (found.get(key)?.count ?? 0) + 1 });
    }
    return [...found.values()].map(({ state, type, count }) => {
      const limit = state === 'running' ? Infinity : most;
      return { state, type, count: Math.min(count, limit), isExact: count <= limit };
    });
  }

  async list({ filter, limit, after, payload }: PageRequest): Promise<readonly JobRow[]> {
    const { moment, direction } = orderOf(filter.state);
    const sign = direction === 'ascending' ? 1 : -1;
    const order = (a: Place, b: Place): number => sign * ((a.at ?? 0) - (b.at ?? 0) || (a.id < b.id ? -1 : 1));
    const placeOf = (row: TestRow): Place => ({ id: row.id, at: moment === undefined ? undefined : row[moment] });
    const start = after === undefined ? undefined : { id: after.id, at: after.moment };
    return this.matching(filter)
      .filter((row) => start === undefined || (row.id !== start.id && order(placeOf(row), start) > 0))
      .toSorted((a, b) => order(placeOf(a), placeOf(b)))
      .slice(0, limit)
      .map((row) => toJobRow(row, payload));
  }

  async find(id: string, payload: PayloadWish): Promise<JobRow | undefined> {
    const row = this.table.rows.get(id);
    if (row === undefined) return undefined;
    const { log, history } = row;
    return {
      ...toJobRow(row, payload),
      log: decodeLog(log),
      history: decodeHistory(history),
      ...resultOf(row, payload),
    };
  }

  async oldestDue(): Promise<readonly DueJob[]> {
    const now = this.table.clock.now();
    const due = this.matching({ state: 'pending' }).filter(({ runAt }) => runAt <= now);
    const oldest = new Map<string, DueJob>();
    for (const { id, type, runAt } of due.toSorted((a, b) => b.runAt - a.runAt || (a.id < b.id ? 1 : -1))) {
      oldest.set(type, { id, type, runAt, waitingMs: now - runAt });
    }
    return [...oldest.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1));
  }

  async claims(): Promise<readonly ClaimCount[]> {
    const now = this.table.clock.now();
    const found = new Map<string, ClaimCount>();
    for (const { claimedBy: owner, type, leaseUntil = 0 } of this.matching({ state: 'running' })) {
      if (owner === undefined) continue;
      const known = found.get(`${owner} ${type}`);
      const endsInMs = Math.max(known?.endsInMs ?? -Infinity, leaseUntil - now);
      found.set(`${owner} ${type}`, { owner, type, count: (known?.count ?? 0) + 1, endsInMs });
    }
    return [...found.keys()].toSorted().flatMap((key) => found.get(key) ?? []);
  }

  async cancel(
    ids: readonly string[],
    from: readonly ('pending' | 'running')[],
    keepMs: ReadonlyMap<string, number> = new Map(),
  ): Promise<readonly CancelledJob[]> {
    const now = this.table.clock.now();
    return this.rowsOf(ids, from).map((row) => {
      const { id, token } = row;
      const claim = token === undefined ? undefined : { id, token };
      const cancelled = { ...changedOf(row), claim };
      const keptMs = keepMs.get(row.type);
      unclaim(row);
      const keepUntil = keptMs === undefined ? undefined : now + bounded(keptMs);
      Object.assign(row, { state: 'cancelled', finishedAt: now, keepUntil });
      return cancelled;
    });
  }

  async retry(ids: readonly string[], from: readonly EndedState[], delayMs = 0): Promise<readonly ChangedJob[]> {
    const { isOpen, wake } = this.parts;
    const changed: ChangedJob[] = [];
    for (const row of this.rowsOf(ids, from)) {
      if (this.table.holderOf(row.type, row.uniqueKey) !== undefined) continue;
      changed.push(changedOf(row));
      unclaim(row);
      const fresh = { state: 'pending', attempts: 0, interruptions: 0, runAt: this.table.clock.now() + delayMs };
      Object.assign(row, fresh, {
        finishedAt: undefined,
        keepUntil: undefined,
        result: undefined,
        progress: undefined,
      });
      // It counts for its batch again if that has not ended.
      if (row.batchId !== undefined && !isOpen(row.batchId)) row.batchId = undefined;
    }
    if (changed.length > 0) wake();
    return changed;
  }

  async remove(ids: readonly string[], from: readonly ('pending' | EndedState)[]): Promise<readonly ChangedJob[]> {
    const rows = this.rowsOf(ids, from).filter((row) => !isHeldByBatch(row));
    for (const { id } of rows) this.table.rows.delete(id);
    return rows.map(changedOf);
  }

  async edit(id: string, { delayMs, runAt, payload, maxRetries }: JobEdit): Promise<readonly ChangedJob[]> {
    const rows = this.rowsOf([id], ['pending']);
    for (const row of rows) {
      row.runAt = delayMs === undefined ? (runAt ?? row.runAt) : this.table.clock.now() + delayMs;
      row.payload = payload ?? row.payload;
      row.maxRetries = maxRetries ?? row.maxRetries;
    }
    if (rows.length > 0) this.parts.wake();
    return rows.map(changedOf);
  }

  private matching(filter: JobFilter): TestRow[] {
    const { state, type, queue, tag, batch, error } = filter;
    const { createdFrom = -Infinity, createdBefore = Infinity, finishedFrom, finishedBefore } = filter;
    return this.table
      .all()
      .filter(
        (row) =>
          (state ?? row.state) === row.state &&
          (type ?? row.type) === row.type &&
          (queue ?? row.queue) === row.queue &&
          (tag === undefined || row.tags?.includes(tag) === true) &&
          (batch ?? row.batchId) === row.batchId &&
          (error === undefined || row.lastError?.includes(error) === true) &&
          row.createdAt >= createdFrom &&
          row.createdAt < createdBefore &&
          (finishedFrom === undefined || (row.finishedAt ?? -Infinity) >= finishedFrom) &&
          (finishedBefore === undefined || (row.finishedAt ?? Infinity) < finishedBefore),
      );
  }

  private rowsOf(ids: readonly string[], from: readonly JobState[]): TestRow[] {
    const rows = [...new Set(ids)].map((id) => this.table.rows.get(id)).filter((row) => row !== undefined);
    return rows.filter(({ state }) => from.includes(state));
  }
}

function changedOf({ id, state, batchId }: TestRow): ChangedJob {
  return { id, from: state, batchId };
}

interface Place {
  readonly id: string;
  readonly at: number | undefined;
}

function toJobRow(row: TestRow, payload: PayloadWish): JobRow {
  const { token: _token, context: _context, remembered: _remembered, keepUntil: _keepUntil, timeoutMs, ...rest } = row;
  const { history: _history, log: _log, result: _result, follows: _follows, ...shown } = rest;
  return {
    ...shown,
    finishedAt: row.finishedAt,
    lastError: row.lastError,
    claimedBy: row.claimedBy,
    tags: row.tags,
    expiresAt: row.expiresAt,
    leaseUntil: row.leaseUntil,
    timeout: timeoutMs,
    progress: decodeProgress(row.progress),
    payload: payload === 'with payload' ? row.payload : undefined,
    ...resultOf(row, payload),
  };
}

function resultOf({ result }: TestRow, payload: PayloadWish): { readonly result?: string | undefined } {
  return payload === 'with payload' ? { result } : {};
}
