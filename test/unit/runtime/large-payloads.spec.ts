import { Executor } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { JobEvents } from '../../../lib/model/events.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';
import { ClaimDesk } from '../../../lib/runtime/claim-desk.js';
import { mostCharacters } from '../../../lib/runtime/flow.js';
import { NoteWriter } from '../../../lib/runtime/note-writer.js';
import { OutageReport } from '../../../lib/runtime/outage-report.js';
import { SuspectSeat } from '../../../lib/runtime/suspect-seat.js';
import { Worker } from '../../../lib/runtime/worker.js';
import type { WorkerParts } from '../../../lib/runtime/worker-parts.js';
import type { LimitedType } from '../../../lib/model/limited-type.js';
import type { ClaimedJob } from '../../../lib/model/job.js';
import type {
  ExchangeRequest,
  ExchangeResult,
  LimitedClaimRequest,
  LimitedClaimResult,
} from '../../../lib/stores/job-store.js';
import { fitting } from '../../../lib/stores/payload-room.js';
import { ScriptedStore } from '../../support/scripted-store.js';
import { until } from '../../support/until.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const large = 'x'.repeat(3_000_000);
const all = 8;

/** A store that keeps to the room of each claim. */
class RoomyStore extends ScriptedStore {
  readonly brought: number[] = [];

  override async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { lost } = await super.exchange({ ...request, claim: undefined });
    const claimed = request.claim === undefined ? [] : this.take(request.claim.limit, request.claim.room);
    return { lost, claimed };
  }

  override async claimLimited(request?: LimitedClaimRequest): Promise<LimitedClaimResult> {
    return { claimed: request === undefined ? [] : this.take(request.limit, request.room), waits: new Map() };
  }

  private take(limit: number, room: number | undefined): readonly ClaimedJob[] {
    const fits = fitting(this.waiting.slice(0, limit), { room }, ({ payload }) => payload.length);
    const claimed = this.waiting.splice(0, fits.length).map((job) => ({ ...job, token: `of-${job.id}` }));
    for (const job of claimed) this.held.set(job.token, job);
    if (claimed.length > 0) this.brought.push(claimed.length);
    return claimed;
  }
}

function workerOn(store: RoomyStore, run: () => Promise<void>, limited: readonly LimitedType[]): Worker {
  const registry = new HandlerRegistry();
  registry.add({ type: 'work', source: 'work', policy: {}, run });
  const events = new JobEvents();
  const parts: WorkerParts = {
    store,
    events,
    clock,
    executor: new Executor(registry, { backoff: defaultBackoff, timeout: 0 }),
    makeLogger: () => silent,
    notes: new NoteWriter(store, events),
    keeper: undefined,
    desk: new ClaimDesk({ disown: () => Promise.resolve(0), clock, intervalMs: Infinity }),
    seat: new SuspectSeat(),
    outages: new OutageReport(events, clock),
    claimTypes: () => registry.types(),
    limits: () => new Map(),
    limited: () => limited,
    learnKeyed: () => undefined,
    onFreed: () => undefined,
    held: () => [],
  };
  return new Worker(parts, { pollMs: 600_000, leaseMs: 0, prefetch: 1_000, maxInterruptions: Infinity, owner: 'me' });
}

describe('large payloads', () => {
  it.each([
    ['without limits', []],
    ['with limits', [{ type: 'work', globalConcurrency: 100 }]],
  ])('free workers get jobs of a type %s claim by claim, and wait for no poll between', async (_which, limited) => {
    const store = new RoomyStore();
    for (let n = 0; n < all; n++) store.add({ type: 'work', payload: JSON.stringify(large) });
    let started = 0;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const run = (): Promise<void> => {
      started += 1;
      return gate;
    };
    const worker = workerOn(store, run, limited);

    worker.start(2 * all);
    try {
      await until(() => started === all, { within: 5_000 });
    } finally {
      open();
      await worker.stop(1_000, 10);
    }

    expect(Math.max(...store.brought) * large.length).toBeLessThanOrEqual(mostCharacters);
  });
});
