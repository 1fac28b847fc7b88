import { Executor } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { JobEvents } from '../../../lib/model/events.js';
import type { ClaimedJob } from '../../../lib/model/job.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';
import { Engine } from '../../../lib/runtime/engine.js';
import type { ExchangeRequest, ExchangeResult } from '../../../lib/stores/job-store.js';
import { ScriptedStore } from '../../support/scripted-store.js';
import { until } from '../../support/until.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/** A store that tells of its claims before their answer is on the way, and of lost ones that they were cancelled. */
class EarlyStore extends ScriptedStore {
  onClaim: (claimed: readonly ClaimedJob[]) => void = () => undefined;

  override async exchange(request: ExchangeRequest): Promise<ExchangeResult> {
    const { lost, claimed } = await super.exchange(request);
    this.onClaim(claimed);
    return { lost: lost.map(({ id, token }) => ({ id, token, isCancelled: true })), claimed };
  }
}

describe('cancelling a claim', () => {
  const engines: Engine[] = [];

  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop(0, 10)));
  });

  function setUp() {
    const store = new EarlyStore();
    const registry = new HandlerRegistry();
    const events = new JobEvents();
    const told: string[] = [];
    for (const kind of ['lost', 'cancelled', 'completed', 'released'] as const) {
      events.on(kind, ({ job }) => told.push(`${kind} ${job.id}`));
    }
    const ran: string[] = [];
    registry.add({
      type: 'a',
      source: 'a',
      policy: {},
      run: (_payload, { id }) => {
        ran.push(id);
        store.steal('stolen');
      },
    });
    const engine = new Engine(
      {
        store,
        events,
        clock: { now: () => Date.now(), monotonic: () => performance.now() },
        executor: new Executor(registry, { backoff: defaultBackoff, timeout: 0 }),
        makeLogger: () => silent,
        claimTypes: () => registry.types(),
        limits: () => new Map<string, number>(),
        limited: () => [],
        learnKeyed: () => undefined,
        identity: { isDead: () => Promise.resolve(false), forget: () => Promise.resolve() },
      },
      {
        pollMs: 10,
        leaseMs: 30_000,
        prefetch: 0,
        maxInterruptions: 3,
        interruptionBackoffMs: 0,
        keepMs: {},
        queues: {},
        owner: 'me',
      },
    );
    engines.push(engine);
    return { store, engine, told, ran };
  }

  it('whose answer is still on its way keeps the job from starting', async () => {
    const { store, engine, told, ran } = setUp();
    store.onClaim = (claimed) => engine.cancel(claimed.filter(({ id }) => id === 'early'));
    store.add({ type: 'a', id: 'early' });
    store.add({ type: 'a', id: 'next' });

    engine.start(1);
    await until(() => told.includes('completed next'));

    expect(ran).toEqual(['next']);
    expect(told).toEqual(['cancelled early', 'completed next']);
  });

  it('whose answer is still on its way keeps tick from running the job', async () => {
    const { store, engine, told, ran } = setUp();
    store.onClaim = (claimed) => engine.cancel(claimed);
    store.add({ type: 'a', id: 'early' });

    expect(await engine.runOne()).toBe(true);

    expect(ran).toEqual([]);
    expect(told).toEqual(['cancelled early']);
    expect(store.settled).toEqual([]);
  });

  it('is told by the answer to its outcome, where it came from elsewhere, and is no lost claim', async () => {
    const { store, engine, told, ran } = setUp();
    store.add({ type: 'a', id: 'stolen' });

    engine.start(1);
    await until(() => told.length > 0);

    expect(ran).toEqual(['stolen']);
    expect(told).toEqual(['cancelled stolen']);
  });
});
