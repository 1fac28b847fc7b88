import { randomUUID } from 'node:crypto';
import type { Clock } from '../model/clock.js';
import { interruptedLine } from '../model/attempt-history.js';
import type { EnqueueResult } from '../model/enqueue-result.js';
import type { ClaimedJob, Lease, NewJob } from '../model/job.js';
import { endedStates } from '../model/job-state.js';
import type {
  ClaimRequest,
  ForeignClaims,
  JobNote,
  JobWrite,
  LostLease,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
  Settlement,
} from '../stores/job-store.js';
import { PayloadRoom } from '../stores/payload-room.js';
import { answersOf, groupRivals, type Decision, type Rivals } from '../stores/rivals.js';
import { interruptionError, isGone } from '../stores/typeorm/job-row.js';
import { slotOf } from '../stores/typeorm/slot.js';
import { capOf, isInScope, isPaused } from '../stores/typeorm/streams.js';
import {
  addHistory,
  byDue,
  claimedOf,
  noteRow,
  replaceable,
  settleRow,
  toTestRow,
  unclaim,
  type TestBatch,
  type TestRow,
} from './test-row.js';

/** What a change answers, and the jobs that it has stored. */
export interface Stored<T> {
  readonly answer: T;
  readonly stored: readonly NewJob[];
}

interface TakenSlot {
  readonly id: string;
  readonly freeAt: number;
}

/** The tables of a test, in memory: what the databases do, said in the plainest way. Tests have few jobs, so it looks through all of them. */
export class TestTable {
  readonly rows = new Map<string, TestRow>();
  /** What is paused, as slots. */
  readonly pauses = new Set<string>();
  readonly batches = new Map<string, TestBatch>();
  private readonly slots = new Map<string, TakenSlot>();

  constructor(readonly clock: Clock) {}

  /** All of them or none. */
  insert(jobs: readonly NewJob[]): void {
    const ids = new Set(jobs.map(({ id }) => id));
    const known = [...ids].find((id) => this.rows.has(id));
    if (ids.size < jobs.length || known !== undefined) throw new Error('two jobs have the same id');
    for (const job of jobs) this.rows.set(job.id, toTestRow(job, this.clock));
  }

  admit(jobs: readonly NewJob[]): readonly EnqueueResult[] {
    const decided = new Map<Rivals, Decision>();
    for (const rivals of groupRivals(jobs)) decided.set(rivals, this.decide(rivals.lead));
    return answersOf(jobs, decided);
  }

  /** What would come of it now, with nothing stored. */
  rehearse<T>(work: (table: TestTable) => T): T {
    const copy = new TestTable(this.clock);
    for (const [id, row] of this.rows) copy.rows.set(id, { ...row });
    for (const [slot, taken] of this.slots) copy.slots.set(slot, taken);
    return work(copy);
  }

  /** Who holds the unique key of a row. */
  holderOf(type: string, uniqueKey: string | undefined): TestRow | undefined {
    if (uniqueKey === undefined) return undefined;
    return this.all().find(
      (row) => row.type === type && row.uniqueKey === uniqueKey && !endedStates.some((state) => state === row.state),
    );
  }

  settle(settlements: readonly Settlement[]): readonly LostLease[] {
    return settlements.filter((one) => !this.settleOne(one)).map((lease) => this.lost(lease));
  }

  claim(request: ClaimRequest): readonly ClaimedJob[] {
    const taken = new Map<string, number>();
    const claimed: ClaimedJob[] = [];
    const room = new PayloadRoom(request);
    for (const row of this.due(request)) {
      if (claimed.length === request.limit) break;
      const count = taken.get(row.type) ?? 0;
      if (count >= (capOf(request.caps, row.type) ?? Infinity)) continue;
      if (!room.takes(row.payload.length)) break;
      taken.set(row.type, count + 1);
      claimed.push(this.take(row, request));
    }
    return claimed;
  }

  /** Jobs that may be claimed, in their order. */
  due({ types, queues, mostInterruptions = Infinity, keys }: Omit<ClaimRequest, 'limit'>): readonly TestRow[] {
    const now = this.clock.now();
    const isDue = (row: TestRow): boolean =>
      row.state === 'pending' &&
      row.runAt <= now &&
      (types?.includes(row.type) ?? true) &&
      isInScope(row.queue, queues) &&
      row.interruptions <= mostInterruptions &&
      !(keys === 'none' && row.key !== undefined) &&
      !isPaused(row, this.pauses);
    return this.all().filter(isDue).toSorted(byDue);
  }

  /** Claims one of them. */
  take(row: TestRow, { owner, leaseMs }: Pick<ClaimRequest, 'owner' | 'leaseMs'>): ClaimedJob {
    const now = this.clock.now();
    const token = randomUUID();
    Object.assign(row, { state: 'running', token, claimedBy: owner, leaseUntil: now + leaseMs });
    return claimedOf(row, token, now);
  }

  extend(leases: readonly Lease[], leaseMs: number): readonly LostLease[] {
    const isLost = (lease: Lease): boolean => {
      const row = this.held(lease);
      if (row !== undefined) row.leaseUntil = this.clock.now() + leaseMs;
      return row === undefined;
    };
    return leases.filter(isLost).map((lease) => this.lost(lease));
  }

  note(notes: readonly JobNote[]): void {
    for (const note of notes) {
      const row = this.held(note);
      if (row !== undefined) noteRow(row, note);
    }
  }

  /** The row of a claim that stands. */
  held({ id, token }: Lease): TestRow | undefined {
    const row = this.rows.get(id);
    return row?.token === token && row.state === 'running' ? row : undefined;
  }

  /** Says whether the claim stood. */
  write(lease: Lease, write: JobWrite): boolean {
    if (write.kind === 'settle') return this.settleOne(write.settlement);
    const row = this.held(lease);
    if (row !== undefined) row.remembered = (row.remembered ?? '') + write.line;
    return row !== undefined;
  }

  disown(owner: string, held: readonly Lease[]): number {
    const tokens = new Set(held.map(({ token }) => token));
    const strays = this.all().filter(
      ({ state, claimedBy, token }) => state === 'running' && claimedBy === owner && !tokens.has(token ?? ''),
    );
    for (const row of strays) {
      unclaim(row);
      row.state = 'pending';
    }
    return strays.length;
  }

  foreignClaims(owner: string): readonly ForeignClaims[] {
    const ends = new Map<string | undefined, number[]>();
    for (const { state, claimedBy, leaseUntil } of this.all()) {
      if (state !== 'running' || claimedBy === owner) continue;
      ends.set(claimedBy, [...(ends.get(claimedBy) ?? []), leaseUntil ?? -Infinity]);
    }
    return [...ends].map(([claimedBy, moments]) => {
      const first = Math.min(...moments);
      return { owner: claimedBy, endsInMs: Number.isFinite(first) ? first - this.clock.now() : undefined };
    });
  }

  recover(request: RecoverRequest): readonly RecoveredJob[] {
    const now = this.clock.now();
    const isOver = ({ state, claimedBy, leaseUntil = -Infinity }: TestRow): boolean =>
      state === 'running' &&
      claimedBy !== request.owner &&
      (leaseUntil <= now || request.deadOwners?.includes(claimedBy ?? '') === true);
    const rows = this.all().filter(isOver).slice(0, request.limit);
    return rows.map((row) => this.recoverOne(row, request, now));
  }

  pendingTypes(): readonly string[] {
    const pending = this.all().filter(({ state }) => state === 'pending');
    return [...new Set(pending.map(({ type }) => type))].toSorted();
  }

  prune({ state, endedForMs, limit }: PruneRequest): number {
    const now = this.clock.now();
    const ended = this.all()
      .filter((row) => row.state === state && row.finishedAt !== undefined)
      .toSorted((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0));
    const kept = ended.filter(({ keepUntil }) => keepUntil !== undefined && keepUntil <= now).slice(0, limit);
    const old = ended.filter(
      ({ keepUntil, finishedAt = 0 }) => keepUntil === undefined && finishedAt <= now - endedForMs,
    );
    const gone = [...kept, ...old.slice(0, limit)];
    for (const { id } of gone) this.rows.delete(id);
    return gone.length;
  }

  pruneSlots(limit: number): number {
    const over = [...this.slots].filter(([, { freeAt }]) => freeAt <= this.clock.now()).slice(0, limit);
    for (const [slot] of over) this.slots.delete(slot);
    return over.length;
  }

  all(): TestRow[] {
    return [...this.rows.values()];
  }

  private decide(job: NewJob): Decision {
    if (job.throttle !== undefined) return this.throttle(job);
    const holder = this.holderOf(job.type, job.uniqueKey);
    if (holder === undefined) {
      this.insert([job]);
      return { id: job.id, outcome: 'stored' };
    }
    const { id } = holder;
    if (holder.state === 'running') return { id, outcome: 'running' };
    const now = this.clock.now();
    if (job.onDuplicate !== 'replace' && (holder.expiresAt ?? Infinity) > now) return { id, outcome: 'waiting' };
    const cleared = { attempts: 0, lastError: undefined, progress: undefined, remembered: undefined };
    Object.assign(holder, replaceable(job, now), cleared);
    return { id, outcome: 'replaced' };
  }

  private throttle(job: NewJob): Decision {
    const { slot, windowMs } = slotOf(job);
    const key = `${job.type}\n${slot}`;
    const taken = this.slots.get(key);
    const now = this.clock.now();
    if (taken !== undefined && taken.freeAt > now) return { id: taken.id, outcome: 'throttled' };
    this.slots.set(key, { id: job.id, freeAt: now + windowMs });
    this.insert([job]);
    return { id: job.id, outcome: 'stored' };
  }

  private settleOne(settlement: Settlement): boolean {
    const row = this.rows.get(settlement.id);
    if (row === undefined || row.token !== settlement.token) return false;
    if (isGone(settlement)) this.rows.delete(row.id);
    else settleRow(row, settlement, this.clock.now());
    return true;
  }

  private recoverOne(row: TestRow, { maxInterruptions, backoffMs }: RecoverRequest, now: number): RecoveredJob {
    const isCounted = row.claimedBy !== undefined;
    if (isCounted) {
      row.interruptions += 1;
      addHistory(row, interruptedLine.join(String(row.attempts + 1)), now);
    }
    const isFailed = isCounted && row.interruptions >= maxInterruptions;
    unclaim(row);
    row.state = isFailed ? 'failed' : 'pending';
    row.keepUntil = undefined;
    if (isFailed) {
      row.lastError = interruptionError(maxInterruptions).join(String(row.interruptions));
      row.finishedAt = now;
    } else {
      const isRepeated = isCounted && row.interruptions > 1;
      row.runAt = isRepeated ? now + (row.interruptions - 1) * backoffMs : Math.min(row.runAt, now);
    }
    return { id: row.id, type: row.type, interruptions: row.interruptions, state: isFailed ? 'failed' : 'pending' };
  }

  private lost({ id, token }: Lease): LostLease {
    return this.rows.get(id)?.state === 'cancelled' ? { id, token, isCancelled: true } : { id, token };
  }
}
