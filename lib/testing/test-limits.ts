import type { ClaimedJob } from '../model/job.js';
import type { StartTimes } from '../model/start-times.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../stores/job-store.js';
import { inRound } from '../stores/key-line.js';
import { allowanceOf, usedLimits } from '../stores/limit-state.js';
import { furtherClaim, isOver, PayloadRoom } from '../stores/payload-room.js';
import { byDue, phaseOf, type TestRow } from './test-row.js';
import type { TestTable } from './test-table.js';

type Claim = Omit<ClaimRequest, 'limit'>;

/**
 * Claims of types with limits and keys. Who comes first is decided as on a database, save for what is left to chance there: here it is always
 * the job that stands first.
 */
export class TestLimits {
  private readonly starts = new Map<string, StartTimes>();
  /** Of each type with keys, the key that was served last. */
  private readonly served = new Map<string, string>();
  /** Until when a rate limit holds back a type. */
  private readonly heldUntil = new Map<string, number>();

  constructor(private readonly table: TestTable) {}

  claim(request: LimitedClaimRequest): LimitedClaimResult {
    const claimed: ClaimedJob[] = [];
    const waits = new Map<string, number>();
    for (const asked of this.inOrder(request)) {
      const rest = furtherClaim(request, claimed);
      const most = isOver(rest) ? 0 : Math.min(asked.most, rest.limit);
      const found = this.claimOf({ ...asked, most }, claimOf(asked, rest));
      claimed.push(...found.claimed);
      if (found.waitMs === undefined) continue;
      waits.set(asked.type, found.waitMs);
      this.heldUntil.set(asked.type, this.table.clock.now() + found.waitMs);
    }
    return { claimed, waits };
  }

  /** The moments at which a rate limit lets the next of the jobs through that are due. */
  moments(): readonly number[] {
    const now = this.table.clock.now();
    return this.table.due({ types: [...this.heldUntil.keys()], owner: '', leaseMs: 0 }).flatMap(({ type }) => {
      const until = this.heldUntil.get(type) ?? now;
      return until > now ? [until] : [];
    });
  }

  /** The types in the order of their first jobs. */
  private inOrder({ types, ...request }: LimitedClaimRequest): readonly AskedType[] {
    const due = this.table.due({ ...request, types: types.map(({ type }) => type) });
    const order = [...new Set(due.map(({ type }) => type))];
    return types
      .filter(({ type }) => order.includes(type))
      .toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  }

  private claimOf(asked: AskedType, claim: Claim): { claimed: readonly ClaimedJob[]; waitMs: number | undefined } {
    const { type } = asked;
    const running = this.table.all().filter((row) => row.type === type && row.state === 'running').length;
    const now = this.table.clock.now();
    const state = { type, running, starts: this.starts.get(type) ?? [], now };
    const { most, waitMs } = allowanceOf(asked, state);
    const claimed: ClaimedJob[] = [];
    const room = new PayloadRoom(claim);
    while (claimed.length < most) {
      const row = this.next(type, claim);
      if (row === undefined || !room.takes(row.payload.length)) break;
      if (row.key !== undefined) this.served.set(type, row.key);
      claimed.push(this.table.take(row, claim));
    }
    const used = usedLimits(asked, state, { count: claimed.length, latest: now + asked.graceMs });
    if (used.starts !== undefined) this.starts.set(type, used.starts);
    return { claimed, waitMs: used.waitMs ?? waitMs };
  }

  /** The first job without a key, or the first one of the key whose turn it is, whichever stands first. */
  private next(type: string, claim: Claim): TestRow | undefined {
    const due = this.table.due(claim);
    const keyless = due.find(({ key }) => key === undefined);
    const keys = due.map(({ key }) => key).filter((key) => key !== undefined);
    const turns = inRound(keys, this.served.get(type) ?? '').map((key) => this.headOf(type, key));
    const keyed = turns.find((head) => head !== undefined && due.includes(head));
    return [keyless, keyed].filter((row) => row !== undefined).toSorted(byDue)[0];
  }

  /** The job that stands first among those of its key: one that runs, if one does. None while one that was started before waits for its time. */
  private headOf(type: string, key: string): TestRow | undefined {
    const now = this.table.clock.now();
    const line = this.table
      .all()
      .filter((row) => row.type === type && row.key === key && (row.state === 'pending' || row.state === 'running'));
    if (line.some((row) => phaseOf(row) === 1 && row.runAt > now)) return undefined;
    return line.toSorted((a, b) => phaseOf(a) - phaseOf(b) || a.runAt - b.runAt || (a.id < b.id ? -1 : 1))[0];
  }
}

/** The request for one type. */
function claimOf({ type }: AskedType, request: LimitedClaimRequest): Claim {
  const { queues, owner, leaseMs, mostInterruptions, room, isFurther } = request;
  return { types: [type], queues, owner, leaseMs, mostInterruptions, room, isFurther };
}
