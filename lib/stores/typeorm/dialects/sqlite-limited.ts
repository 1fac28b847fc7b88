import type { ClaimedJob } from '../../../model/job.js';
import type { Row } from '../job-row.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { encodeStarts } from '../../../model/start-times.js';
import { allowanceOf, inTurns, mostCounted, usedLimits, type LimitState } from '../../limit-state.js';
import { claimOf, toLimitState } from '../limited-claim.js';
import type { SqliteStatements } from './sqlite-statements.js';

/** How jobs are found and marked, limits aside. */
interface SqliteClaims {
  due(request: ClaimRequest, now: number): readonly Row[];
  claim(rows: readonly Row[], request: ClaimRequest, now: number): readonly ClaimedJob[];
}

/** Claims of types with limits on one connection, synchronous; whoever calls them sees to the transaction. */
export class SqliteLimited {
  constructor(
    private readonly jobs: SqliteClaims,
    private readonly statements: SqliteStatements,
  ) {}

  /** Whether a claim may find something; and what holds back the types of which it would not. Takes no lock. */
  look({ types }: LimitedClaimRequest, now: number): { readonly isOpen: boolean } & Pick<LimitedClaimResult, 'waits'> {
    const waits = new Map<string, number>();
    let isOpen = false;
    for (const asked of types) {
      if (this.statements.get('firstStream').get(asked.type) === undefined) continue;
      const { most, waitMs } = allowanceOf(asked, this.stateOf(asked, now));
      if (waitMs !== undefined) waits.set(asked.type, waitMs);
      isOpen ||= most > 0;
    }
    return { isOpen, waits };
  }

  /** To be called in a transaction that has the lock of the file. */
  claim(request: LimitedClaimRequest, now: number): LimitedClaimResult {
    const claimed: ClaimedJob[] = [];
    const waits = new Map<string, number>();
    for (const asked of inTurns(request.types)) {
      if (claimed.length >= request.limit) break;
      const rest = { ...request, limit: request.limit - claimed.length };
      claimed.push(...this.claimOne(asked, rest, { now, waits }));
    }
    return { claimed, waits };
  }

  private claimOne(
    asked: AskedType,
    request: LimitedClaimRequest,
    { now, waits }: { readonly now: number; readonly waits: Map<string, number> },
  ): readonly ClaimedJob[] {
    const state = this.stateOf(asked, now);
    const { most, waitMs } = allowanceOf(asked, state);
    if (waitMs !== undefined) waits.set(asked.type, waitMs);
    if (most === 0) return [];
    const one = claimOf(asked, request, most);
    const claimed = this.jobs.claim(this.jobs.due(one, now), one, now);
    const used = usedLimits(asked, state, { count: claimed.length, graceMs: request.graceMs });
    if (used.starts !== undefined) this.statements.get('saveStarts').run(asked.type, encodeStarts(used.starts));
    if (used.waitMs !== undefined) waits.set(asked.type, used.waitMs);
    return claimed;
  }

  private stateOf(asked: AskedType, now: number): LimitState {
    const { type } = asked;
    const row = this.statements.get('limits').get(type);
    const running = this.statements.get('countRunning').get(type, mostCounted(asked));
    return toLimitState({ job_type: type, now_ms: now, ...row, ...running });
  }
}
