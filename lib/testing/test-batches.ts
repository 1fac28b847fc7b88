import type { BatchRecord } from '../model/batch.js';
import {
  beginBatch,
  enterSteps,
  followUpOf,
  isCompleted,
  totalOf,
  type BatchProgress,
  type NewBatch,
} from '../model/batch-progress.js';
import type { NewJob } from '../model/job.js';
import type { BatchPage, BatchStore, StoredBatch } from '../stores/batch-store.js';
import { heldMs } from '../stores/typeorm/job-row.js';
import { inStore } from '../stores/typeorm/store-error.js';
import { isHeldByBatch, type TestBatch, type TestRow } from './test-row.js';
import type { Stored, TestTable } from './test-table.js';

export interface TestBatchesParts {
  readonly table: TestTable;
  /** Changes the table, at once or when the caller's transaction commits; says what comes of it. */
  readonly change: <T>(manager: unknown, change: (table: TestTable) => Stored<T>) => T;
}

/** Batches of a test: what the databases do, in the plainest way. */
export class TestBatches implements BatchStore {
  constructor(private readonly parts: TestBatchesParts) {}

  insert(batch: NewBatch, manager?: unknown): Promise<StoredBatch> {
    const { table, change } = this.parts;
    return inStore('store a batch', async () => {
      const insert = (into: TestTable): Stored<StoredBatch> => insertBatch(into, batch);
      // What cannot be stored whole is refused here, and nothing is.
      table.rehearse(insert);
      return change(manager, insert);
    });
  }

  async idle(ids: readonly string[]): Promise<readonly string[]> {
    const { table } = this.parts;
    return [...new Set(ids)].filter((id) => table.batches.has(id) && !isActive(table, id));
  }

  async page(after: string | undefined, limit: number): Promise<BatchPage> {
    const { table } = this.parts;
    const open = [...table.batches].filter(([, { isClosed }]) => !isClosed).map(([id]) => id);
    const page = behind(open, (id) => id, { after, limit });
    const idle = page.filter((id) => !isActive(table, id));
    return { idle, open: page.length, next: page.length < limit ? undefined : page.at(-1) };
  }

  async advance(id: string): Promise<'open' | 'ended'> {
    const batch = this.parts.table.batches.get(id);
    if (batch === undefined || batch.finishedAt !== undefined) return 'ended';
    return this.parts.change(undefined, (table) => advanceBatch(table, batch));
  }

  async release(id: string, after: string | undefined, limit: number): Promise<string | undefined> {
    const { table } = this.parts;
    const completed = membersOf(table, id).filter(({ state }) => state === 'completed');
    const page = behind(completed, (row) => row.id, { after, limit });
    for (const row of page.filter(isHeldByBatch)) {
      const keepUntil = (row.keepUntil ?? 0) - heldMs;
      if (keepUntil <= (row.finishedAt ?? 0)) table.rows.delete(row.id);
      else row.keepUntil = keepUntil;
    }
    return page.length < limit ? undefined : page.at(-1)?.id;
  }

  async close(id: string): Promise<void> {
    const { table } = this.parts;
    const batch = table.batches.get(id);
    if (batch?.finishedAt !== undefined && !isActive(table, id)) batch.isClosed = true;
  }

  async find(id: string): Promise<BatchRecord | undefined> {
    const { table } = this.parts;
    const batch = table.batches.get(id);
    if (batch === undefined) return undefined;
    const { progress, createdAt, finishedAt } = batch;
    const total = totalOf(progress);
    const active = finishedAt === undefined ? membersOf(table, id).filter(isUnderWay).length : 0;
    const completed = finishedAt === undefined ? completedOf(table, id) : batch.completed;
    const failed = Math.max(0, progress.stored - completed - active);
    const ended = isCompleted({ total, completed }) ? 'completed' : 'failed';
    const state = finishedAt === undefined ? 'open' : ended;
    return { id, state, total, completed, failed, createdAt, finishedAt };
  }

  async prune(endedForMs: number, limit: number): Promise<number> {
    const { batches, clock } = this.parts.table;
    const isOld = ({ isClosed, finishedAt = Infinity }: TestBatch): boolean =>
      isClosed && finishedAt <= clock.now() - endedForMs;
    const old = [...batches].filter(([, batch]) => isOld(batch)).slice(0, limit);
    for (const [id] of old) batches.delete(id);
    return old.length;
  }
}

function insertBatch(table: TestTable, batch: NewBatch): Stored<StoredBatch> {
  const { progress, stored, doers } = enter(table, beginBatch(batch));
  const entry = { progress, completed: 0, createdAt: table.clock.now(), finishedAt: undefined, isClosed: false };
  table.batches.set(batch.id, entry);
  const followUps = progress.stored === 0 ? end(table, entry) : [];
  const jobIds = batch.steps.flat().map(({ id }) => doers.get(id) ?? id);
  return { answer: { jobIds, total: totalOf(progress) }, stored: [...stored, ...followUps] };
}

function advanceBatch(table: TestTable, batch: TestBatch): Stored<'open' | 'ended'> {
  const { id, stored: before } = batch.progress;
  if (isActive(table, id)) return { answer: 'open', stored: [] };
  batch.completed = completedOf(table, id);
  if (batch.completed >= before) {
    const { progress, stored } = enter(table, batch.progress);
    batch.progress = progress;
    if (progress.stored > before) return { answer: 'open', stored };
  }
  return { answer: 'ended', stored: end(table, batch) };
}

/** Stores the jobs of the next step, and says of each which job does its work. */
function enter(table: TestTable, from: BatchProgress) {
  const doers = new Map<string, string>();
  const stored: NewJob[] = [];
  const steps = enterSteps(from);
  let turn = steps.next();
  while (turn.done !== true) {
    const jobs = turn.value;
    const results = table.admit(jobs);
    for (const [index, { id }] of jobs.entries()) doers.set(id, results[index]?.id ?? id);
    stored.push(...jobs.filter((_job, index) => results[index]?.outcome === 'stored'));
    turn = steps.next(results);
  }
  return { progress: turn.value, stored, doers };
}

/** Ends a batch; returns the job that follows it, if that was stored. */
function end(table: TestTable, batch: TestBatch): readonly NewJob[] {
  batch.finishedAt = table.clock.now();
  const followUp = followUpOf(batch.progress, batch.completed);
  if (followUp === undefined) return [];
  return table.admit([followUp])[0]?.outcome === 'stored' ? [followUp] : [];
}

function membersOf(table: TestTable, id: string): readonly TestRow[] {
  return table.all().filter(({ batchId }) => batchId === id);
}

function completedOf(table: TestTable, id: string): number {
  return membersOf(table, id).filter(({ state }) => state === 'completed').length;
}

function isActive(table: TestTable, id: string): boolean {
  return membersOf(table, id).some(isUnderWay);
}

function isUnderWay({ state }: TestRow): boolean {
  return state === 'pending' || state === 'running';
}

/** The next ones in the order of their ids. */
function behind<T>(
  all: readonly T[],
  idOf: (one: T) => string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): readonly T[] {
  return all
    .filter((one) => after === undefined || idOf(one) > after)
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
    .slice(0, limit);
}
