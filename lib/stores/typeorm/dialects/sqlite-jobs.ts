import { randomBytes } from 'node:crypto';
import type { ClaimedJob, Lease, NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import type { ClaimRequest, ForeignClaims, RecoveredJob, RecoverRequest, Settlement } from '../../job-store.js';
import { interruptionError, toClaimedJob, toForeignClaims, toSettledRow, toText, type Row } from '../job-row.js';
import type { SqliteHandle } from './sqlite-handle.js';
import { SqliteStatements } from './sqlite-statements.js';

const unlimited = Number.MAX_SAFE_INTEGER;

/** The verbs on one connection, synchronous; whoever calls them sees to the transaction. Row by row is as fast as any list here. */
export class SqliteJobs {
  private readonly statements: SqliteStatements;

  constructor(
    readonly handle: SqliteHandle,
    table: string,
  ) {
    this.statements = new SqliteStatements(handle, table);
  }

  insert(jobs: readonly NewJob[], now: number): void {
    const insert = this.statements.get('insert');
    for (const { id, type, payload, maxRetries, delayMs, runAt, context } of jobs) {
      const values = [id, type, payload, maxRetries, runAt ?? now + delayMs, now] as const;
      if (context === undefined) insert.run(...values);
      else this.statements.get('insertWithContext').run(...values, context);
    }
  }

  /** Returns the leases that were lost. */
  settle(settlements: readonly Settlement[], now: number): readonly Lease[] {
    return settlements.filter((settlement) => !this.settleOne(settlement, now)).map(({ id, token }) => ({ id, token }));
  }

  /** Due jobs, oldest first. */
  due(
    { types = this.pendingTypes(), limit, mostInterruptions = unlimited }: ClaimRequest,
    now: number,
  ): readonly Row[] {
    const [only] = types;
    if (only === undefined) return [];
    if (types.length > 1) return this.dueOfMany(types, [now, mostInterruptions, limit], limit);
    return this.statements.get('due').all(only, now, mostInterruptions, limit);
  }

  /** Marks what `due` found in the same transaction. */
  claim(rows: readonly Row[], { owner, leaseMs }: ClaimRequest, now: number): readonly ClaimedJob[] {
    const claim = this.statements.get('claim');
    const nonce = `${randomBytes(16).toString('hex')}:`;
    return rows.map((row) => {
      const job = toClaimedJob(row, `${nonce}${idOf(row)}`);
      claim.run(job.token, owner, now + leaseMs, Number(row['place']));
      return job;
    });
  }

  /** Returns the leases that were lost. */
  extend(leases: readonly Lease[], until: number): readonly Lease[] {
    const extend = this.statements.get('extend');
    return leases.filter(({ id, token }) => extend.run(until, id, token).changes === 0);
  }

  foreignClaims(owner: string, now: number): readonly ForeignClaims[] {
    return this.statements
      .get('foreignClaims')
      .all(owner)
      .map((row) => toForeignClaims(row, now));
  }

  /** Running jobs whose lease is over or missing, or whose owner is dead, except the owner's own. */
  expired({ owner, limit, deadOwners = [] }: RecoverRequest, now: number): readonly Row[] {
    return this.statements.get('expired').all(owner, now, JSON.stringify(deadOwners), limit);
  }

  /** The end of a lease counts as an interruption unless the claim was given up on purpose: then `claimed_by` is null. */
  recover(row: Row, { maxInterruptions, backoffMs }: RecoverRequest, now: number): RecoveredJob {
    const isCounted = row['claimed_by'] !== null;
    const interruptions = Number(row['interruptions']) + (isCounted ? 1 : 0);
    const isFailed = isCounted && interruptions >= maxInterruptions;
    const isRepeated = isCounted && interruptions > 1;
    const before = Number(row['next_run_at']);
    const dueAt = isRepeated ? now + (interruptions - 1) * backoffMs : Math.min(before, now);
    const state = isFailed ? JobState.Failed : JobState.Pending;
    const error = isFailed ? interruptionError(maxInterruptions).join(String(interruptions)) : null;
    const id = idOf(row);
    this.statements
      .get('recover')
      .run(state, interruptions, isFailed ? before : dueAt, error, isFailed ? now : null, id);
    return { id, type: toText(row['job_type']), interruptions, state };
  }

  prune(failedUntil: number, limit: number): number {
    return this.statements.get('prune').run(failedUntil, limit).changes;
  }

  disown(owner: string, held: readonly Lease[]): number {
    const disown = this.statements.get('disown');
    const tokens = new Set<unknown>(held.map(({ token }) => token));
    const rows = this.statements.get('owned').all(owner);
    const strays = rows.filter((row) => !tokens.has(row['claim_token']));
    for (const row of strays) disown.run(idOf(row));
    return strays.length;
  }

  pendingTypes(): readonly string[] {
    return this.statements
      .get('pendingTypes')
      .all()
      .map((row) => toText(row['job_type']));
  }

  private settleOne({ outcome, ...lease }: Settlement, now: number): boolean {
    if (outcome.kind === 'completed')
      return this.statements.get('deleteCompleted').run(lease.id, lease.token).changes > 0;
    const { status, cost, delayMs, error } = toSettledRow({ ...lease, outcome });
    const dueAt = delayMs === null ? null : now + delayMs;
    const finishedAt = status === JobState.Failed ? now : null;
    const settle = this.statements.get('settle');
    return settle.run(status, cost, dueAt, error, finishedAt, status, lease.id, lease.token).changes > 0;
  }

  /** Merges the cursors of all types, so that no more rows are read than are wanted, and one more of each type. */
  private dueOfMany(types: readonly string[], bounds: readonly number[], limit: number): readonly Row[] {
    // All of them first: what keeps one from being prepared must leave no cursor open, which would block the connection for ever.
    const looks = types.map((type, index) => ({ type, statement: this.statements.get('due', index) }));
    const cursors = looks.map(({ type, statement }) => statement.iterate(type, ...bounds));
    try {
      return mergeByDue(cursors, limit);
    } finally {
      for (const cursor of cursors) cursor.return?.();
    }
  }
}

function mergeByDue(cursors: readonly Iterator<Row>[], limit: number): readonly Row[] {
  const heads = cursors.map((cursor) => ({ cursor, head: cursor.next() }));
  const merged: Row[] = [];
  while (merged.length < limit) {
    let first: (typeof heads)[number] | undefined;
    for (const candidate of heads) {
      if (candidate.head.done === true) continue;
      if (first === undefined || isEarlier(candidate.head.value, first.head.value as Row)) first = candidate;
    }
    if (first === undefined) break;
    merged.push(first.head.value as Row);
    first.head = first.cursor.next();
  }
  return merged;
}

function isEarlier(a: Row, b: Row): boolean {
  const difference = Number(a['next_run_at']) - Number(b['next_run_at']);
  return difference === 0 ? idOf(a) < idOf(b) : difference < 0;
}

function idOf(row: Row): string {
  return toText(row['id']);
}
