import type { DataSource, QueryRunner } from 'typeorm';
import type { BatchRecord } from '../../../model/batch.js';
import type { NewBatch } from '../../../model/batch-progress.js';
import { isConditional } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import type { BatchPage, BatchStore, StoredBatch } from '../../batch-store.js';
import type { AdminSql } from '../admin/admin-sql.js';
import { runnerOf } from '../callers-transaction.js';
import { heldMs, toText, type Row } from '../job-row.js';
import { inStore } from '../store-error.js';
import { toBatchRecord, toTexts } from './batch-row.js';
import { advanceScript, insertScript } from './batch-scripts.js';
import type { BatchSql, BatchWords } from './batch-sql.js';
import {
  closeStatement,
  completedStatement,
  deleteBatchesStatement,
  findBatchStatement,
  idleStatement,
  oldBatchesStatement,
  pageStatement,
  setReleased,
} from './batch-statements.js';

export interface TypeOrmBatchStoreParts {
  readonly dataSource: DataSource;
  readonly sql: AdminSql;
  readonly scripts: BatchSql;
  /** Called when jobs have become due. */
  readonly wake: () => void;
  /** Calls it when the runner's transaction has committed. */
  readonly afterCommit: (runner: QueryRunner, act: () => void) => void;
}

/** Batches in a table of their own, beside that of the jobs. */
export class TypeOrmBatchStore implements BatchStore {
  constructor(private readonly parts: TypeOrmBatchStoreParts) {}

  async insert(batch: NewBatch, manager?: unknown): Promise<StoredBatch> {
    const { dataSource, scripts, wake, afterCommit } = this.parts;
    this.checkSizes(batch);
    const make = () => insertScript(batch);
    if (manager !== undefined) {
      const runner = runnerOf(manager, dataSource);
      const stored = await scripts.within(runner, make);
      afterCommit(runner, wake);
      return stored;
    }
    const jobs = [...batch.steps.flat(), batch.onComplete].filter((job) => job !== undefined);
    const lane = jobs.some(isConditional) ? 'conditional' : 'plain';
    const stored = await inStore('store a batch', () => scripts.transaction(lane, make));
    wake();
    return stored;
  }

  async idle(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    return inStore('look whether batches are over', async () =>
      idsOf(await this.parts.sql.read(idleStatement(this.words, ids))),
    );
  }

  page(after: string | undefined, limit: number): Promise<BatchPage> {
    return inStore('look at open batches', async () => {
      const rows = await this.parts.sql.read(pageStatement(this.words, after, limit));
      const idle = idsOf(rows.filter((row) => Number(row['is_idle']) === 1));
      return { idle, open: rows.length, next: rows.length < limit ? undefined : idsOf(rows).at(-1) };
    });
  }

  async advance(id: string): Promise<'open' | 'ended'> {
    const { scripts, wake } = this.parts;
    // What follows may have a key, which is known only when its row has been read.
    const state = await inStore('take a batch further', () =>
      scripts.transaction('conditional', () => advanceScript(id, scripts.words)),
    );
    wake();
    return state;
  }

  release(id: string, after: string | undefined, limit: number): Promise<string | undefined> {
    const { sql } = this.parts;
    return inStore('let go of the jobs of a batch', async () => {
      const rows = await sql.read(completedStatement(this.words.members, { id, after, limit }));
      const held = rows.filter((row) => Number(row['keep_until']) >= heldMs);
      const from = [JobState.Completed];
      await sql.change({ ids: idsOf(held.filter(isToGo)), from, set: undefined });
      await sql.change({ ids: idsOf(held.filter((row) => !isToGo(row))), from, set: setReleased });
      return rows.length < limit ? undefined : idsOf(rows).at(-1);
    });
  }

  async close(id: string): Promise<void> {
    await inStore('close a batch', () => this.parts.sql.write(closeStatement(this.words, id)));
  }

  find(id: string): Promise<BatchRecord | undefined> {
    return inStore('find a batch', async () => {
      const [row] = await this.parts.sql.read(findBatchStatement(this.words.members, id));
      return row === undefined ? undefined : toBatchRecord(row);
    });
  }

  prune(endedForMs: number, limit: number): Promise<number> {
    const { sql } = this.parts;
    return inStore('delete old batches', async () => {
      const ids = idsOf(await sql.read(oldBatchesStatement(endedForMs, limit)));
      return ids.length === 0 ? 0 : sql.write(deleteBatchesStatement(ids));
    });
  }

  private get words(): BatchWords {
    return this.parts.scripts.words;
  }

  /** @throws PayloadTooLargeError */
  private checkSizes(batch: NewBatch): void {
    const { steps, onComplete, onFailure } = toTexts(batch, batch.steps.slice(1));
    for (const text of [steps, onComplete, onFailure]) if (text !== null) this.parts.sql.checkPayload(text);
  }
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => toText(row['id']));
}

/** Kept for its batch and nothing else. */
function isToGo(row: Row): boolean {
  return Number(row['keep_until']) - heldMs <= Number(row['finished_at']);
}
