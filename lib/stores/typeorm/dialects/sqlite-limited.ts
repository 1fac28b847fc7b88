import type { ClaimedJob } from '../../../model/job.js';
import { mostDueSeen, type DueKeys, type KeyHead, type KeySource } from '../../key-line.js';
import type { AskedType, ClaimRequest, LimitedClaimRequest, LimitedClaimResult } from '../../job-store.js';
import { allowanceOf, inTurns, mostCounted } from '../../limit-state.js';
import { fitting, furtherClaim, isOver } from '../../payload-room.js';
import { toText } from '../job-row.js';
import { toDueKeys, toKeyHead } from '../keyed-claim.js';
import type { KeylessLooks } from '../keyless-looks.js';
import {
  claimUnderLock,
  toLockedState,
  type LimitChanges,
  type LockedState,
  type LockedSteps,
} from '../limited-claim.js';
import { pauseSlot } from '../slot.js';
import { atOnce } from '../stepwise.js';
import type { SqliteClaimer } from './sqlite-claimer.js';
import type { SqliteStatements } from './sqlite-statements.js';

export interface SqliteLimitedParts {
  /** How jobs are found and marked, limits aside. */
  readonly claimer: SqliteClaimer;
  readonly statements: SqliteStatements;
  readonly keylessLooks: KeylessLooks;
}

/** Claims of types with limits on one connection, synchronous; whoever calls them sees to the transaction. */
export class SqliteLimited {
  constructor(private readonly parts: SqliteLimitedParts) {}

  /** Whether a claim may find something; and what holds back the types of which it would not. Takes no lock. */
  look({ types }: LimitedClaimRequest, now: number): { readonly isOpen: boolean } & Pick<LimitedClaimResult, 'waits'> {
    const steps = new SqliteLockedSteps(this.parts, now);
    const waits = new Map<string, number>();
    let isOpen = false;
    for (const asked of types) {
      if (this.parts.statements.get('firstStream').get(asked.type) === undefined) continue;
      const { most, waitMs } = allowanceOf(asked, steps.lock(asked));
      if (waitMs !== undefined) waits.set(asked.type, waitMs);
      isOpen ||= most > 0;
    }
    return { isOpen, waits };
  }

  /** To be called in a transaction that has the lock of the file. */
  claim(request: LimitedClaimRequest, now: number): LimitedClaimResult {
    const steps = new SqliteLockedSteps(this.parts, now);
    const claimed: ClaimedJob[] = [];
    const waits = new Map<string, number>();
    for (const asked of inTurns(request.types)) {
      const rest = furtherClaim(request, claimed);
      if (isOver(rest)) break;
      const found = atOnce(claimUnderLock(asked, rest, steps));
      if (found.waitMs !== undefined) waits.set(asked.type, found.waitMs);
      claimed.push(...found.claimed);
    }
    return { claimed, waits };
  }
}

class SqliteLockedSteps implements LockedSteps {
  readonly keylessLooks: KeylessLooks;

  constructor(
    private readonly parts: SqliteLimitedParts,
    private readonly now: number,
  ) {
    this.keylessLooks = parts.keylessLooks;
  }

  /** The lock is that of the file. */
  lock(asked: AskedType): LockedState {
    const { statements } = this.parts;
    const { type } = asked;
    const row = statements.get('limits').get(type);
    const running = statements.get('countRunning').get(type, mostCounted(asked));
    return toLockedState({ job_type: type, now_ms: this.now, ...row, ...running });
  }

  claim(claim: ClaimRequest): readonly ClaimedJob[] {
    const { claimer } = this.parts;
    return claimer.claim(claimer.due(claim, this.now), claim, this.now);
  }

  dueKeys(claim: ClaimRequest): DueKeys {
    const due = this.parts.claimer.dueKeys({ ...claim, limit: mostDueSeen }, this.now);
    return toDueKeys(
      due.map(({ key }) => ({ job_key: key })),
      mostDueSeen,
    );
  }

  heads(source: KeySource, claim: ClaimRequest): readonly KeyHead[] {
    const [type = ''] = claim.types ?? [];
    const keys = 'keys' in source ? source.keys : this.keysAfter(type, source);
    return keys.map((key) => this.headOf({ type, key }, claim));
  }

  claimThese(ids: readonly string[], claim: ClaimRequest): readonly ClaimedJob[] {
    const { claimer, statements } = this.parts;
    const rows = ids.map((id) => statements.get('pendingById').get(id)).filter((row) => row !== undefined);
    const found = rows.map((row) => ({ place: Number(row['place']), characters: Number(row['characters']) }));
    return claimer.claim(
      fitting(found, claim, ({ characters }) => characters),
      claim,
      this.now,
    );
  }

  save(type: string, { starts, served }: LimitChanges): void {
    this.parts.statements.get('saveLimits').run(type, starts ?? '', served ?? '', starts ?? null, served ?? null);
  }

  private keysAfter(type: string, { after, count }: { readonly after: string; readonly count: number }): string[] {
    const next = this.parts.statements.get('nextKey');
    const keys: string[] = [];
    for (let row = next.get(type, after); row !== undefined && keys.length < count;) {
      const key = toText(row['job_key']);
      keys.push(key);
      row = next.get(type, key);
    }
    return keys;
  }

  private headOf({ type, key }: { readonly type: string; readonly key: string }, claim: ClaimRequest): KeyHead {
    const { statements } = this.parts;
    const row = statements.get('firstOfKey').get(type, key);
    const isFree =
      row !== undefined &&
      Number(row['phase']) > 0 &&
      Number(row['next_run_at']) <= this.now &&
      !this.isPaused(type, toText(row['queue'])) &&
      !(Number(row['phase']) === 1 && statements.get('waitsOfKey').get(type, key, this.now) !== undefined);
    return isFree ? toKeyHead({ ...row, job_key: key }, claim) : { key, id: undefined };
  }

  private isPaused(type: string, queue: string): boolean {
    const slots = [pauseSlot({ kind: 'type', name: type }), pauseSlot({ kind: 'queue', name: queue })];
    return slots.some((slot) => this.parts.statements.get('pause').get(slot) !== undefined);
  }
}
