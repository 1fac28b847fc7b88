import { enqueueResult, type EnqueueResult } from '../../lib/model/enqueue-result.js';
import type { ClaimedJob, Lease, NewJob } from '../../lib/model/job.js';
import type {
  ExchangeRequest,
  ExchangeResult,
  ForeignClaims,
  JobNote,
  LimitedClaimResult,
  JobStore,
  PruneRequest,
  RecoveredJob,
  RecoverRequest,
  Settlement,
} from '../../lib/stores/job-store.js';

/** A store that hands out given jobs, keeps what is settled, and fails, hangs or loses claims when told to. */
export class ScriptedStore implements JobStore {
  readonly waiting: ClaimedJob[] = [];
  readonly settled: Settlement[] = [];
  readonly held = new Map<string, ClaimedJob>();
  readonly extended: (readonly Lease[])[] = [];
  readonly disowned: (readonly Lease[])[] = [];
  readonly notes: JobNote[] = [];
  readonly requests: ExchangeRequest[] = [];
  /** Asked before each exchange and heartbeat; what it throws, they throw. */
  fault: (request: ExchangeRequest | undefined) => void = () => undefined;
  private serial = 0;

  add(job: Partial<ClaimedJob> & { readonly type: string }): ClaimedJob {
    const id = job.id ?? `job-${++this.serial}`;
    const full = { id, token: '', payload: '', attempts: 0, maxRetries: 3, interruptions: 0, ...job };
    this.waiting.push(full);
    return full;
  }

  /** Kinds of the outcomes stored for a job. */
  outcomesOf(id: string): string[] {
    return this.settled.filter((settlement) => settlement.id === id).map(({ outcome }) => outcome.kind);
  }

  /** Takes a claim away, as another worker would after its lease had ended. */
  steal(id: string): void {
    for (const [token, job] of this.held) if (job.id === id) this.held.delete(token);
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  insert(_jobs: readonly NewJob[]): Promise<void> {
    return Promise.resolve();
  }

  admit(jobs: readonly NewJob[]): Promise<readonly EnqueueResult[]> {
    return Promise.resolve(jobs.map(({ id }) => enqueueResult(id, 'stored')));
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    this.requests.push(request);
    await Promise.resolve();
    this.fault(request);
    const lost = request.settle.filter((settlement) => !this.settle(settlement));
    const claimed: ClaimedJob[] = [];
    while (claimed.length < (request.claim?.limit ?? 0)) {
      const most = request.claim?.mostInterruptions ?? Infinity;
      const place = this.waiting.findIndex(({ interruptions }) => interruptions <= most);
      const [next] = place === -1 ? [] : this.waiting.splice(place, 1);
      if (next === undefined) break;
      const job = { ...next, token: `token-${++this.serial}` };
      this.held.set(job.token, job);
      claimed.push(job);
    }
    return { lost, claimed };
  }

  claimLimited(): Promise<LimitedClaimResult> {
    return Promise.resolve({ claimed: [], waits: new Map() });
  }

  async extend(leases: readonly Lease[]): Promise<readonly Lease[]> {
    await Promise.resolve();
    this.fault(undefined);
    this.extended.push(leases);
    return leases.filter(({ token }) => !this.held.has(token));
  }

  note(notes: readonly JobNote[]): Promise<void> {
    this.notes.push(...notes);
    return Promise.resolve();
  }

  foreignClaims(): Promise<readonly ForeignClaims[]> {
    return Promise.resolve([]);
  }

  recover(_request: RecoverRequest): Promise<readonly RecoveredJob[]> {
    return Promise.resolve([]);
  }

  disown(_owner: string, held: readonly Lease[]): Promise<number> {
    this.disowned.push(held);
    return Promise.resolve(0);
  }

  prune(_request: PruneRequest): Promise<number> {
    return Promise.resolve(0);
  }

  pruneSlots(_limit: number): Promise<number> {
    return Promise.resolve(0);
  }

  pendingTypes(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  listen(): Promise<() => Promise<void>> {
    return Promise.resolve(() => Promise.resolve());
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private settle(settlement: Settlement): boolean {
    const job = this.held.get(settlement.token);
    if (job === undefined) return false;
    this.held.delete(settlement.token);
    this.settled.push(settlement);
    if (settlement.outcome.kind === 'retried') this.add({ ...job, attempts: job.attempts + 1 });
    return true;
  }
}
