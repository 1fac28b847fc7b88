import { Executor } from '../../../lib/execution/executor.js';
import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { JobEvents } from '../../../lib/model/events.js';
import type { LimitedType } from '../../../lib/model/limited-type.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';
import { Engine } from '../../../lib/runtime/engine.js';
import type { LimitedClaimRequest, LimitedClaimResult } from '../../../lib/stores/job-store.js';
import { ScriptedStore } from '../../support/scripted-store.js';
import { until } from '../../support/until.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/** A store whose limited claims wait for a word. */
class GatedStore extends ScriptedStore {
  readonly asked: LimitedClaimRequest[] = [];
  readonly limited: string[] = [];
  gate: Promise<void> = Promise.resolve();

  override async claimLimited(request?: LimitedClaimRequest): Promise<LimitedClaimResult> {
    if (request === undefined) throw new Error('expected a request');
    this.asked.push(request);
    await this.gate;
    const most = Math.min(request.limit, ...request.types.map((type) => type.most));
    const ids = this.limited.splice(0, most);
    const claimed = ids.map((id) => {
      const job = { id, type: 'limited', token: `of-${id}`, payload: '', attempts: 0, maxRetries: 3, interruptions: 0 };
      this.held.set(job.token, job);
      return job;
    });
    return { claimed, waits: new Map() };
  }
}

describe('LimitedClaimer', () => {
  const engines: Engine[] = [];

  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop(0, 10)));
  });

  interface SetUp {
    readonly queues?: Record<string, number>;
    readonly limits?: Record<string, number>;
    readonly fleet?: Omit<LimitedType, 'type'>;
  }

  function setUp({ queues = {}, limits = {}, fleet = { globalConcurrency: 9 } }: SetUp) {
    const store = new GatedStore();
    const registry = new HandlerRegistry();
    const limited: LimitedType[] = [{ type: 'limited', ...fleet }];
    const engine = new Engine(
      {
        store,
        events: new JobEvents(),
        clock: { now: () => Date.now(), monotonic: () => performance.now() },
        executor: new Executor(registry, { backoff: defaultBackoff, timeout: 0 }),
        makeLogger: () => silent,
        claimTypes: () => registry.types(),
        limits: () => new Map(Object.entries(limits)),
        limited: () => limited,
        learnKeyed: () => undefined,
        identity: { isDead: () => Promise.resolve(false), forget: () => Promise.resolve() },
      },
      {
        pollMs: 60_000,
        leaseMs: 30_000,
        prefetch: 0,
        maxInterruptions: 3,
        interruptionBackoffMs: 0,
        keepMs: {},
        queues,
        owner: 'me',
      },
    );
    engines.push(engine);
    const on = (type: string, run: () => unknown): void => registry.add({ type, source: type, policy: {}, run });
    return { store, engine, on };
  }

  /** Something to wait for, and what ends the wait. */
  function gate(): { readonly pass: Promise<void>; open(): void } {
    let open = (): void => undefined;
    const pass = new Promise<void>((resolve) => (open = resolve));
    return { pass, open: () => open() };
  }

  it('loses no permit of a limit by the hour to a claim that took long', async () => {
    const { store, engine, on } = setUp({ fleet: { rateLimit: { limit: 1, windowMs: 3_600_000 } } });
    on('limited', () => undefined);
    const answer = gate();
    store.gate = answer.pass;
    store.limited.push('slow');
    engine.start(1);
    await until(() => store.asked.length === 1);

    // As long as a claim may take where nothing is known of claims, and more.
    await new Promise((resolve) => setTimeout(resolve, 150));
    answer.open();
    await until(() => store.settled.length === 1);

    expect(store.outcomesOf('slow')).toEqual(['completed']);
  });

  it('gives back in time what comes in the middle of a stop', async () => {
    const { store, engine, on } = setUp({});
    on('limited', () => undefined);
    const answer = gate();
    store.gate = answer.pass;
    store.limited.push('late');
    engine.start(1);
    await until(() => store.asked.length === 1);

    let isStopped = false;
    const stopping = engine.stop(60_000, 10).then(() => (isStopped = true));
    // The worker has come to rest by then, having nothing to do.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    answer.open();
    await until(() => store.settled.length === 1);

    expect(store.outcomesOf('late')).toEqual(['released']);
    await until(() => isStopped);
    await stopping;
  });

  it.each(['limited', 'plain'])('gives back what a tick claims in the middle of a stop: %s', async (type) => {
    const { store, engine, on } = setUp({});
    let runs = 0;
    on(type, () => (runs += 1));
    const answer = gate();
    if (type === 'limited') {
      store.gate = answer.pass;
      store.limited.push('late');
    } else {
      const exchange = store.exchange.bind(store);
      store.exchange = async (request) => {
        if (request.claim !== undefined) await answer.pass;
        return exchange(request);
      };
      store.add({ type, id: 'late' });
    }
    const tick = engine.runOne();
    await new Promise((resolve) => setImmediate(resolve));

    const stopping = engine.stop(60_000, 10);
    await new Promise((resolve) => setImmediate(resolve));
    answer.open();

    expect(await tick).toBe(false);
    await stopping;
    expect(runs).toBe(0);
    expect(store.outcomesOf('late')).toEqual(['released']);
  });

  it('runs no more of a type than one process may, where two workers claim at the same time', async () => {
    const { store, engine, on } = setUp({ queues: { other: 1 }, limits: { limited: 1 } });
    const end = gate();
    let running = 0;
    on('limited', () => {
      running += 1;
      return end.pass;
    });
    const answer = gate();
    store.gate = answer.pass;
    store.limited.push('a', 'b');
    engine.start(1);
    await until(() => store.asked.length === 2);
    answer.open();
    await until(() => store.settled.length === 1 || running === 2);

    expect(running).toBe(1);
    end.open();
  });

  it('keeps no slots for a type of which this process runs as many as it may', async () => {
    const { store, engine, on } = setUp({ queues: { other: 1 }, limits: { limited: 1 } });
    const ends = new Map<string, () => void>();
    on('limited', () => new Promise<void>((resolve) => ends.set('limited', resolve)));
    const ran: string[] = [];
    on('plain', () => {
      ran.push('plain');
      return new Promise<void>((resolve) => ends.set(`plain ${ran.length}`, resolve));
    });
    store.add({ type: 'plain' });
    store.add({ type: 'plain' });
    engine.start(1);
    await until(() => ran.length === 2);
    // Both workers are full by now, and keep their next slot for what has limits.
    store.limited.push('long');
    ends.get('plain 1')?.();
    await until(() => ends.has('limited'));
    store.add({ type: 'plain' });
    ends.get('plain 2')?.();
    await until(() => ran.length === 3);

    expect(ran).toHaveLength(3);
    for (const end of ends.values()) end();
  });
});
