import type { EnqueueResult } from '../../../model/enqueue-result.js';
import { interruptedLine, lineStart } from '../../../model/attempt-history.js';
import type { Lease, NewJob } from '../../../model/job.js';
import { JobState } from '../../../model/job-state.js';
import type {
  ForeignClaims,
  JobNote,
  JobWrite,
  LostLease,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
  Settlement,
} from '../../job-store.js';
import { interruptionError, isGone, toForeignClaims, toSettledRow, toText, type Row } from '../job-row.js';
import { SqliteAdmission } from './sqlite-admission.js';
import { markCancelled } from '../lost-leases.js';
import type { SqliteHandle } from './sqlite-handle.js';
import { KeylessLooks } from '../keyless-looks.js';
import { SqliteClaimer } from './sqlite-claimer.js';
import { SqliteLimited } from './sqlite-limited.js';
import { SqliteStatements, type SqliteNames } from './sqlite-statements.js';

/** The verbs on one connection, synchronous; whoever calls them sees to the transaction. Row by row is as fast as any list here. */
export class SqliteJobs {
  private readonly statements: SqliteStatements;
  private readonly admission: SqliteAdmission;
  readonly claimer: SqliteClaimer;
  /** Claims of types with limits. */
  readonly limited: SqliteLimited;

  constructor(
    readonly handle: SqliteHandle,
    names: SqliteNames,
  ) {
    this.statements = new SqliteStatements(handle, names);
    this.admission = new SqliteAdmission(this.statements);
    const { statements } = this;
    this.claimer = new SqliteClaimer(statements);
    this.limited = new SqliteLimited({ claimer: this.claimer, statements, keylessLooks: new KeylessLooks() });
  }

  insert(jobs: readonly NewJob[], now: number): void {
    this.admission.insert(jobs, now);
  }

  /** Stores jobs with conditions; answers for each what came of it. */
  admit(jobs: readonly NewJob[], now: number): readonly EnqueueResult[] {
    return this.admission.admit(jobs, now);
  }

  pruneSlots(now: number, limit: number): number {
    return this.statements.get('pruneSlots').run(now, limit).changes;
  }

  /** Returns the leases that were lost. */
  settle(settlements: readonly Settlement[], now: number): readonly LostLease[] {
    return this.tellCancelled(settlements.filter((settlement) => !this.settleOne(settlement, now)));
  }

  /** Returns the leases that were lost. */
  extend(leases: readonly Lease[], until: number): readonly LostLease[] {
    const extend = this.statements.get('extend');
    return this.tellCancelled(leases.filter(({ id, token }) => extend.run(until, id, token).changes === 0));
  }

  note(notes: readonly JobNote[]): void {
    const statement = this.statements.get('note');
    for (const { id, token, progress = null, log = null } of notes) statement.run(progress, log, id, token);
  }

  recall({ id, token }: Lease): { readonly text: string | null } | undefined {
    const row = this.statements.get('recall').get(id, token);
    if (row === undefined) return undefined;
    const text = row['remembered'];
    return { text: typeof text === 'string' ? text : null };
  }

  /** Says whether the claim stood. */
  write(lease: Lease, write: JobWrite, now: number): boolean {
    if (write.kind === 'settle') return this.settleOne(write.settlement, now);
    return this.statements.get('remember').run(write.line, lease.id, lease.token).changes > 0;
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
    const attempt = Number(row['attempts']) + 1;
    const line = isCounted ? lineAt(now, interruptedLine.join(String(attempt))) : null;
    this.statements
      .get('recover')
      .run(state, interruptions, isFailed ? before : dueAt, error, isFailed ? now : null, line, id);
    return { id, type: toText(row['job_type']), interruptions, state };
  }

  prune({ state, endedForMs, limit }: PruneRequest, now: number): number {
    const { changes } = this.statements.get('pruneKept').run(state, now, limit);
    if (!Number.isFinite(endedForMs)) return changes;
    return changes + this.statements.get('pruneEnded').run(state, now - endedForMs, limit).changes;
  }

  disown(owner: string, held: readonly Lease[]): number {
    const disown = this.statements.get('disown');
    const tokens = new Set<unknown>(held.map(({ token }) => token));
    const rows = this.statements.get('owned').all(owner);
    const strays = rows.filter((row) => !tokens.has(row['claim_token']));
    for (const row of strays) disown.run(idOf(row));
    return strays.length;
  }

  private tellCancelled(lost: readonly Lease[]): readonly LostLease[] {
    if (lost.length === 0) return [];
    const ids = JSON.stringify(lost.map(({ id }) => id));
    return markCancelled(lost, this.statements.get('cancelled').all(ids));
  }

  private settleOne(settlement: Settlement, now: number): boolean {
    const { id, token } = settlement;
    if (isGone(settlement)) return this.statements.get('deleteCompleted').run(id, token).changes > 0;
    const { status, cost, delayMs, error, isFinished, keepMs, result, line, progress, log } = toSettledRow(settlement);
    const outcome = [
      cost,
      delayMs === null ? null : now + delayMs,
      error,
      isFinished ? now : null,
      keepMs === null ? null : now + keepMs,
      result,
      line === null ? null : lineAt(now, line),
      progress,
      log,
    ];
    return this.statements.get('settle').run(status, ...outcome, status, id, token).changes > 0;
  }
}

/** A line of the history, with its moment. */
function lineAt(now: number, line: string): string {
  return lineStart + String(now) + line;
}

function idOf(row: Row): string {
  return toText(row['id']);
}
