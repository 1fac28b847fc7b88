import { JobState, endedStates, type EndedState } from '../../model/job-state.js';
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
} from '../job-queries.js';
import { toClaimCount, toDueJob, toJobRow, toState } from './admin/admin-row.js';
import type { AdminSql, RowChange } from './admin/admin-sql.js';
import {
  claimsStatement,
  countRunningStatement,
  countStatement,
  findStatement,
  heldByBatch,
  listStatement,
  oldestDueStatement,
  setCancelled,
  setEdited,
  setRetried,
} from './admin/statements.js';
import { toText, type Row } from './job-row.js';
import { toStream, type Stream } from './streams.js';
import { inStore } from './store-error.js';

/** The jobs of one table, for those who look at them and control them from outside. */
export class TypeOrmJobQueries implements JobQueries {
  /** @param wake Called when jobs have become due. */
  constructor(
    private readonly sql: AdminSql,
    private readonly wake: () => void,
  ) {}

  count(most: number, group: JobGroup = {}): Promise<readonly StateCount[]> {
    return inStore('count jobs', async () => {
      const counts = (await this.sql.read(countRunningStatement(this.sql.words, group))).map((row) =>
        toCount(row, JobState.Running, Infinity),
      );
      for (const state of [JobState.Pending, ...endedStates]) {
        const statement = countStatement(this.sql.words, state, { most, group });
        const rows = await this.sql.readEach(await this.typesIn(state), statement);
        counts.push(...rows.map((row) => toCount(row, state, most)));
      }
      return counts.filter(({ count }) => count > 0);
    });
  }

  list(request: PageRequest): Promise<readonly JobRow[]> {
    return inStore('list jobs', async () => {
      const { state, type } = request.filter;
      const statement = listStatement(this.sql.words, request);
      // Jobs that wait lie in their index stream by stream.
      const rows =
        state === JobState.Pending
          ? await this.sql.readEach(await this.streams(request.filter), statement)
          : await this.sql.read((sql) => statement(sql, type));
      return rows.map(toJobRow).toSorted(byOrder(request)).slice(0, request.limit);
    });
  }

  find(id: string, payload: PayloadWish): Promise<JobRow | undefined> {
    return inStore('find a job', async () => {
      const [row] = await this.sql.read(findStatement(id, payload));
      return row === undefined ? undefined : toJobRow(row);
    });
  }

  oldestDue(): Promise<readonly DueJob[]> {
    return inStore('look for the oldest due jobs', async () => {
      const rows = await this.sql.readEach(await this.streams(), oldestDueStatement(this.sql.words));
      const oldest = new Map<string, DueJob>();
      for (const job of rows.map(toDueJob).toSorted((a, b) => b.runAt - a.runAt)) oldest.set(job.type, job);
      return [...oldest.values()].toSorted((a, b) => (a.type < b.type ? -1 : 1));
    });
  }

  claims(): Promise<readonly ClaimCount[]> {
    return inStore('look at the claims on running jobs', async () =>
      (await this.sql.read(claimsStatement(this.sql.words))).map(toClaimCount),
    );
  }

  cancel(
    ids: readonly string[],
    from: readonly ('pending' | 'running')[],
    keepMs: ReadonlyMap<string, number> = new Map(),
  ): Promise<readonly CancelledJob[]> {
    return inStore('cancel jobs', async () =>
      (await this.sql.change({ ids, from, set: setCancelled(keepMs) })).map((row) => {
        const { id, from: state, batchId } = toChanged(row);
        const token = row['claim_token'];
        return { id, from: state, claim: token === null ? undefined : { id, token: toText(token) }, batchId };
      }),
    );
  }

  retry(ids: readonly string[], from: readonly EndedState[], delayMs = 0): Promise<readonly ChangedJob[]> {
    return inStore('retry jobs', async () => {
      const changed = (await this.changeFree({ ids, from, set: setRetried(delayMs) })).map(toChanged);
      await this.tell(changed);
      return changed;
    });
  }

  remove(ids: readonly string[], from: readonly ('pending' | EndedState)[]): Promise<readonly ChangedJob[]> {
    return inStore('delete jobs', async () =>
      (await this.sql.change({ ids, from, set: undefined, sparing: heldByBatch })).map(toChanged),
    );
  }

  edit(id: string, edit: JobEdit): Promise<readonly ChangedJob[]> {
    return inStore('change a waiting job', async () => {
      if (edit.payload !== undefined) this.sql.checkPayload(edit.payload);
      const changed = await this.sql.change({ ids: [id], from: [JobState.Pending], set: setEdited(edit) });
      await this.tell(changed);
      return changed.map(toChanged);
    });
  }

  /** One job whose unique key another one holds by now must not keep the others from their retry: it is left as it is. */
  private async changeFree(change: RowChange): Promise<readonly Row[]> {
    const { ids } = change;
    try {
      return await this.sql.change(change);
    } catch (error) {
      if (!this.sql.isKeyTaken(error)) throw error;
      if (ids.length <= 1) return [];
    }
    const middle = Math.ceil(ids.length / 2);
    const first = await this.changeFree({ ...change, ids: ids.slice(0, middle) });
    return [...first, ...(await this.changeFree({ ...change, ids: ids.slice(middle) }))];
  }

  private async streams({ type, queue }: Pick<JobFilter, 'type' | 'queue'> = {}): Promise<readonly Stream[]> {
    const streams = (await this.sql.read(this.sql.words.streams)).map(toStream);
    return streams.filter(
      (stream) => (type ?? stream.type) === stream.type && (queue ?? stream.queue) === stream.queue,
    );
  }

  private async typesIn(state: JobState): Promise<readonly string[]> {
    return (await this.sql.read(this.sql.words.typesIn(state))).map((row) => toText(row['job_type']));
  }

  /** Waking is a hint: the change is made, and nobody must be told that it failed. */
  private async tell(changed: readonly unknown[]): Promise<void> {
    if (changed.length === 0) return;
    this.wake();
    await this.sql.announce().catch(() => undefined);
  }
}

function toChanged(row: Row): ChangedJob {
  const batchId = row['member_of'];
  return {
    id: toText(row['id']),
    from: toState(row['status']),
    batchId: typeof batchId === 'string' ? batchId : undefined,
  };
}

function toCount(row: Row, state: JobState, most: number): StateCount {
  const jobs = Number(row['jobs']);
  return { state, type: toText(row['job_type']), count: Math.min(jobs, most), isExact: jobs <= most };
}

function byOrder({ filter }: PageRequest): (a: JobRow, b: JobRow) => number {
  const { moment, direction } = orderOf(filter.state);
  const sign = direction === 'ascending' ? 1 : -1;
  return (a, b) => {
    const difference = moment === undefined ? 0 : (a[moment] ?? 0) - (b[moment] ?? 0);
    return sign * (difference === 0 ? (a.id < b.id ? -1 : 1) : difference);
  };
}
