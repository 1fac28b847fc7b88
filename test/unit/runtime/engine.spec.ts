import { HandlerRegistry } from '../../../lib/handlers/handler-registry.js';
import { Executor } from '../../../lib/execution/executor.js';
import { JobEvents, type JobEventKind } from '../../../lib/model/events.js';
import type { JobContext } from '../../../lib/model/job-context.js';
import { defaultBackoff } from '../../../lib/model/retry-policy.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { attachJobLog } from '../../../lib/observe/job-log.js';
import { Engine, type EngineSettings } from '../../../lib/runtime/engine.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { ScriptedStore } from '../../support/scripted-store.js';
import { until } from '../../support/until.js';

const settings: EngineSettings = {
  pollMs: 10,
  leaseMs: 30_000,
  prefetch: 0,
  maxInterruptions: 3,
  interruptionBackoffMs: 0,
  keepMs: {},
  queues: {},
  owner: 'me',
};

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

interface Rig {
  readonly store: ScriptedStore;
  readonly engine: Engine;
  readonly told: string[];
  readonly sink: RecordingSink;
  /** Lets so many milliseconds pass at once, as they do for a process that stood still. */
  standStill(ms: number): void;
  /** Waits until nothing fails any more, and lets the seconds of peace pass after which an outage is over. */
  peace(): Promise<void>;
  on(type: string, run: (job: JobContext) => unknown): void;
}

const engines: Engine[] = [];

function setUp(overrides: Partial<EngineSettings> = {}, facts: Pick<JobStore, 'mostAtOnce'> = {}): Rig {
  const store = Object.assign(new ScriptedStore(), facts);
  const registry = new HandlerRegistry();
  const events = new JobEvents();
  const told: string[] = [];
  let passedMs = 0;
  const timers = new Set<() => void>();
  const clock = {
    now: () => Date.now(),
    monotonic: () => performance.now() + passedMs,
    startTimer: (_delayMs: number, fire: () => void) => {
      timers.add(fire);
      return () => void timers.delete(fire);
    },
  };
  const sink = new RecordingSink();
  attachJobLog(events, sink, 'persistent');
  const kinds: JobEventKind[] = ['lost', 'store-down', 'store-up', 'abandoned', 'unsettled', 'draining'];
  for (const kind of kinds) events.on(kind, () => told.push(kind));
  const engine = new Engine(
    {
      store,
      events,
      clock,
      executor: new Executor(registry, { backoff: defaultBackoff, timeout: 0 }),
      makeLogger: () => silent,
      claimTypes: () => registry.types(),
      limits: () => new Map<string, number>(),
      limited: () => [],
      learnKeyed: () => undefined,
      identity: { isDead: () => Promise.resolve(false), forget: () => Promise.resolve() },
    },
    { ...settings, ...overrides },
  );
  engines.push(engine);
  const on = (type: string, run: (job: JobContext) => unknown): void =>
    registry.add({ type, source: type, policy: {}, run: (_payload, job) => run(job) });
  const standStill = (ms: number): void => void (passedMs += ms);
  const peace = async (): Promise<void> => {
    await until(() => timers.size > 0);
    for (const fire of timers) fire();
  };
  return { store, engine, told, sink, standStill, peace, on };
}

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop(0, 10)));
});

/** Resolves when the job's signal is aborted. */
const aborted = ({ signal }: JobContext): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });

describe('Engine', () => {
  it('repeats only the acknowledgement when the store refuses it', async () => {
    const { store, engine, told, peace, on } = setUp();
    let runs = 0;
    on('a', () => ++runs);
    const job = store.add({ type: 'a' });
    let failures = 0;
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) > 0 && ++failures <= 3) throw new Error('connection lost');
    };

    engine.start(1);
    await until(() => store.settled.length === 1);

    expect(runs).toBe(1);
    expect(store.outcomesOf(job.id)).toEqual(['completed']);
    await peace();
    expect(told).toEqual(['store-down', 'store-up']);
  });

  it('lets other jobs flow while one outcome cannot be stored', async () => {
    const { store, engine, on } = setUp();
    on('a', () => undefined);
    const stuck = store.add({ type: 'a' });
    store.fault = (request) => {
      if (request?.settle.some(({ id }) => id === stuck.id) === true) throw new Error('no');
    };

    engine.start(2);
    for (let n = 0; n < 3; n++) store.add({ type: 'a' });
    await until(() => store.settled.length === 3);

    expect(store.outcomesOf(stuck.id)).toEqual([]);
  });

  it('claims no more jobs than may start while the store refuses every outcome', async () => {
    const { store, engine, on } = setUp();
    let runs = 0;
    on('a', () => ++runs);
    for (let n = 0; n < 500; n++) store.add({ type: 'a' });
    let refusals = 0;
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) === 0) return;
      refusals += 1;
      throw new Error('refused');
    };

    engine.start(4);
    await until(() => refusals >= 7, { within: 30_000 });

    expect(runs).toBe(4);
    // Those that ran, and those that were claimed once before it was clear that they would have to wait.
    expect(store.held.size).toBeLessThanOrEqual(8);
  });

  it('comes back after an outage of any length, reports it once and does not hammer', async () => {
    const { store, engine, told, peace, on } = setUp();
    on('a', () => undefined);
    let isDown = true;
    store.fault = () => {
      if (isDown) throw new Error('down');
    };

    engine.start(4);
    await until(() => store.requests.length === 3);
    for (let n = 0; n < 100; n++) engine.wake();
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.requests.length).toBeLessThan(6);
    isDown = false;
    const job = store.add({ type: 'a' });
    await until(() => store.outcomesOf(job.id).length === 1);

    await peace();
    expect(told).toEqual(['store-down', 'store-up']);
  });

  it('tells of one outage in two lines, however many queues have workers of their own', async () => {
    const { store, engine, sink, peace, on } = setUp({ queues: { a: 1, b: 1, c: 1 } });
    on('a', () => undefined);
    let isDown = true;
    store.fault = () => {
      if (isDown) throw new Error('down');
    };
    store.disown = () => Promise.reject(new Error('could not give back jobs: down'));
    engine.start(1);
    // Each of the four has met it.
    await until(() => new Set(store.requests.map(({ claim }) => JSON.stringify(claim?.queues))).size === 4);

    isDown = false;
    store.disown = () => Promise.resolve(0);
    await peace();
    const seen = store.requests.length;
    await until(() => store.requests.length > seen + 20);

    expect(sink.lines).toEqual([
      'error: the job store does not answer, trying again until it does: down',
      expect.stringMatching(/^log: the job store answers again after/),
    ]);
  });

  it('tells of a store that comes and goes as of one outage, which holds up no job in between', async () => {
    const { store, engine, sink, peace, on } = setUp();
    on('a', () => undefined);
    let exchanges = 0;
    let flaps = 0;
    store.fault = (request) => {
      if (request === undefined || flaps === 6 || ++exchanges % 3 !== 0) return;
      flaps += 1;
      throw new Error('down');
    };
    engine.start(1);
    const jobs = Array.from({ length: 20 }, () => store.add({ type: 'a' }));
    await until(() => store.settled.length === jobs.length && flaps === 6);
    expect(sink.lines).toHaveLength(1);

    await peace();
    const seen = store.requests.length;
    await until(() => store.requests.length > seen + 20);

    expect(sink.lines.map((line) => line.slice(0, 30))).toEqual([
      'error: the job store does not ',
      'log: the job store answers aga',
    ]);
  });

  it('tells when it is stopped that the store answers again', async () => {
    const { store, engine, told, on } = setUp();
    on('a', () => undefined);
    let failures = 0;
    store.fault = () => {
      if (++failures <= 2) throw new Error('down');
    };
    engine.start(1);
    await until(() => store.requests.length >= 6);

    await engine.stop(100, 100);

    expect(told).toEqual(['store-down', 'store-up']);
  });

  it('gives back, after a failed claim, what may stand under its name before it claims again', async () => {
    const { store, engine, on } = setUp();
    on('a', aborted);
    const first = store.add({ type: 'a' });
    engine.start(2);
    await until(() => store.held.size === 1);
    let hasFailed = false;
    store.fault = (request) => {
      if (request?.claim !== undefined && !hasFailed) {
        hasFailed = true;
        throw new Error('answer lost');
      }
    };

    await until(() => store.disowned.length === 1);

    expect(store.disowned[0]?.map(({ id }) => id)).toEqual([first.id]);
  });

  it('renews leases while a handler runs and while the queue drains', async () => {
    const { store, engine, on } = setUp({ leaseMs: 100 });
    let finish = (): void => undefined;
    on('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => store.extended.length >= 3);

    const stopped = engine.stop(10_000, 100);
    const seen = store.extended.length;
    await until(() => store.extended.length >= seen + 3);
    finish();
    await stopped;

    expect(store.outcomesOf(job.id)).toEqual(['completed']);
  });

  it('aborts a job whose claim is lost, says so once and stores nothing of it', async () => {
    const { store, engine, told, on } = setUp({ leaseMs: 100 });
    const reasons: unknown[] = [];
    on('a', async (job) => {
      await aborted(job);
      reasons.push(job.signal.reason);
    });
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => store.held.size === 1);

    store.steal(job.id);
    await until(() => reasons.length === 1);
    await engine.stop(100, 100);

    expect(reasons).toEqual([expect.objectContaining({ reason: 'lease lost' })]);
    expect(told).toEqual(['lost']);
    expect(store.settled).toEqual([]);
  });

  it('says so when an outcome comes too late', async () => {
    const { store, engine, told, on } = setUp();
    let finish = (): void => undefined;
    on('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => store.held.size === 1);

    store.steal(job.id);
    finish();
    await until(() => told.length === 1);

    expect(told).toEqual(['lost']);
    expect(store.settled).toEqual([]);
  });

  it('takes no claim for lost that its own outcome has just ended', async () => {
    const { store, engine, told, on } = setUp({ leaseMs: 100 });
    on('a', () => undefined);
    const job = store.add({ type: 'a' });
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const exchange = store.exchange.bind(store);
    store.exchange = async (request) => {
      const result = await exchange(request);
      if (request.settle.length > 0) await answered;
      return result;
    };
    engine.start(1);
    await until(() => store.settled.length === 1);

    await until(() => store.extended.length > 0);
    answer();
    await engine.stop(100, 100);

    expect(told).toEqual([]);
    expect(store.outcomesOf(job.id)).toEqual(['completed']);
  });

  it('aborts a job whose lease cannot be renewed', async () => {
    const { store, engine, on } = setUp({ leaseMs: 300 });
    let reason: unknown;
    on('a', async (job) => {
      await aborted(job);
      reason = job.signal.reason;
    });
    store.add({ type: 'a' });
    store.fault = (request) => {
      if (request === undefined) throw new Error('no heartbeat');
    };

    engine.start(1);
    await until(() => reason !== undefined);

    expect(reason).toMatchObject({ reason: 'lease lost' });
  });

  it('gives back a claim whose answer came after its lease', async () => {
    const { store, engine, standStill, on } = setUp();
    let runs = 0;
    on('a', () => ++runs);
    const job = store.add({ type: 'a' });
    store.fault = (request) => {
      if (request?.claim !== undefined && store.waiting.length > 0) standStill(settings.leaseMs);
    };

    engine.start(1);
    await until(() => store.settled.length === 1);

    expect(store.outcomesOf(job.id)).toEqual(['released']);
    expect(runs).toBe(0);
  });

  it('gives back what waited for a worker until its lease may be over', async () => {
    const { store, engine, standStill, on } = setUp({ prefetch: 100 });
    const runs = new Set<string>();
    let waiting: readonly string[] = [];
    on('a', ({ id }) => {
      runs.add(id);
      if (waiting.length > 0 || store.held.size < 20) return;
      // As a handler does that holds up the event loop: those behind it wait with leases that nobody renews.
      standStill(settings.leaseMs);
      waiting = [...store.held.values()].map((held) => held.id).filter((held) => !runs.has(held));
    });
    for (let n = 0; n < 2_000; n++) store.add({ type: 'a' });

    engine.start(1);
    await until(() => store.settled.length === 2_000);

    expect(waiting).not.toEqual([]);
    expect(waiting.filter((id) => runs.has(id))).toEqual([]);
  });

  it('runs suspects one at a time, and holds no other meanwhile', async () => {
    const { store, engine, on } = setUp();
    const held: number[] = [];
    on('a', () => undefined);
    const suspects = [1, 2, 3].map(() => store.add({ type: 'a', interruptions: 2 }));
    store.fault = () => void held.push(store.held.size);

    engine.start(4);
    await until(() => store.settled.length === 3);

    expect(Math.max(...held)).toBe(1);
    expect(suspects.map(({ id }) => store.outcomesOf(id))).toEqual([['completed'], ['completed'], ['completed']]);
  });

  it('runs other jobs beside a suspect, and behind it', async () => {
    const { store, engine, on } = setUp();
    on('a', aborted);
    store.add({ type: 'a', interruptions: 2 });
    for (let n = 0; n < 3; n++) store.add({ type: 'a' });

    engine.start(4);

    await until(() => engine.attempts().length === 4);
  });

  it('asks for no further suspect while it has one', async () => {
    const { store, engine, on } = setUp();
    on('a', aborted);
    store.add({ type: 'a', interruptions: 2 });
    engine.start(4);
    await until(() => engine.attempts().length === 1);
    const before = store.requests.length;

    await until(() => store.requests.length > before + 1);

    const asked = store.requests.map(({ claim }) => claim?.mostInterruptions);
    expect([asked[0], ...new Set(asked.slice(before + 1))]).toEqual([undefined, 1]);
  });

  it('runs one suspect after the other', async () => {
    const { store, engine, on } = setUp();
    on('a', () => undefined);
    const suspects = [store.add({ type: 'a', interruptions: 2 })];
    engine.start(4);
    await until(() => store.settled.length === 1);

    suspects.push(store.add({ type: 'a', interruptions: 2 }));
    await until(() => store.settled.length === 2);

    expect(suspects.map(({ id }) => store.outcomesOf(id))).toEqual([['completed'], ['completed']]);
  });

  it('runs a suspect although a stream of short jobs keeps every worker busy', async () => {
    const { store, engine, on } = setUp({ prefetch: 100 });
    on('short', () => new Promise((resolve) => setTimeout(resolve, 1)));
    on('suspect', () => undefined);
    for (let n = 0; n < 300; n++) store.add({ type: 'short' });
    const suspect = store.add({ type: 'suspect', interruptions: 2 });
    for (let n = 0; n < 300; n++) store.add({ type: 'short' });

    engine.start(2);
    await until(() => store.outcomesOf(suspect.id).length > 0);

    expect(store.outcomesOf(suspect.id)).toEqual(['completed']);
  });

  it('starts slow jobs in their turn although a stream of short ones never ends', async () => {
    const prefetch = 100;
    const { store, engine, on } = setUp({ prefetch, pollMs: 60_000 });
    let added = 0;
    let started = 0;
    const overtakenBy: number[] = [];
    const ahead = new Map<string, number>();
    const stream = (count: number): void => {
      for (let n = 0; n < count; n++) store.add({ type: 'short' });
      added += count;
    };
    on('short', () => void (started += 1));
    on('slow', ({ id }) => {
      overtakenBy.push(started - (ahead.get(id) ?? 0));
      return new Promise((resolve) => setTimeout(resolve, 20));
    });
    for (let n = 0; n < 12; n++) {
      stream(100);
      ahead.set(store.add({ type: 'slow' }).id, added);
    }
    store.fault = () => {
      if (store.waiting.length < 1_000) stream(1_000);
    };

    engine.start(4);
    await until(() => overtakenBy.length === 12);

    expect(Math.max(...overtakenBy)).toBeLessThanOrEqual(prefetch + 4);
  });

  it('gives back a suspect that waits behind long jobs', async () => {
    const { store, engine, on } = setUp({ prefetch: 100 });
    on('short', () => undefined);
    on('long', aborted);
    for (let n = 0; n < 2_000; n++) store.add({ type: 'short' });
    store.add({ type: 'long' });
    store.add({ type: 'long' });
    const suspects = Array.from({ length: 60 }, () => store.add({ type: 'long', interruptions: 2 }));

    engine.start(2);
    await until(() => engine.attempts().filter(({ type }) => type === 'long').length === 2);
    await until(() => store.held.size === 2);

    expect(suspects.flatMap(({ id }) => store.outcomesOf(id))).not.toContain('completed');
  });

  it('gives back on stop a suspect that has not started', async () => {
    const { store, engine, on } = setUp();
    let runs = 0;
    on('a', () => ++runs);
    const [first, second] = [1, 2].map(() => store.add({ type: 'a', interruptions: 2 }));
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) > 0) throw new Error('not now');
    };
    engine.start(4);
    // The second one waits until the outcome of the first is stored.
    await until(() => store.held.size === 2);
    store.fault = () => undefined;

    await engine.stop(1_000, 1_000);

    expect(runs).toBe(1);
    expect([first, second].map((job) => store.outcomesOf(job?.id ?? ''))).toEqual([['completed'], ['released']]);
  });

  it('lets jobs with fewer interruptions run side by side', async () => {
    const { store, engine, on } = setUp();
    on('a', aborted);
    for (let n = 0; n < 4; n++) store.add({ type: 'a', interruptions: 1 });

    engine.start(4);

    await until(() => engine.attempts().length === 4);
  });

  it('claims no more than it has free workers while jobs are long', async () => {
    const { store, engine, on } = setUp({ prefetch: 1_000 });
    on('a', aborted);
    for (let n = 0; n < 50; n++) store.add({ type: 'a' });

    engine.start(4);
    await until(() => engine.attempts().length === 4);
    engine.wake();
    await new Promise((resolve) => setTimeout(resolve, 30));

    expect(store.held.size).toBe(4);
  });

  it('claims ahead while jobs are short, within its bound', async () => {
    const { store, engine, on } = setUp({ prefetch: 50 });
    on('a', () => undefined);
    for (let n = 0; n < 5_000; n++) store.add({ type: 'a' });

    engine.start(4);
    await until(() => store.settled.length === 5_000);

    const limits = store.requests.map(({ claim }) => claim?.limit ?? 0);
    expect(Math.max(...limits)).toBeGreaterThan(4);
    expect(Math.max(...limits)).toBeLessThanOrEqual(54);
  });

  it('asks a store whose statements hold up this process for no more at once than it names', async () => {
    const { store, engine, on } = setUp({ prefetch: 400 }, { mostAtOnce: 25 });
    on('a', () => undefined);
    for (let n = 0; n < 2_000; n++) store.add({ type: 'a' });

    engine.start(40);
    await until(() => store.settled.length === 2_000);

    expect(Math.max(...store.requests.map(({ claim }) => claim?.limit ?? 0))).toBe(25);
    expect(Math.max(...store.requests.map(({ settle }) => settle.length))).toBeLessThanOrEqual(25);
  });

  it.each([1, 2])('drains a long backlog in %i exchanges at a time, and holds no more than its bound', async (most) => {
    const { store, engine, on } = setUp({ prefetch: 400 });
    Object.assign(store, { exchangesAtOnce: most });
    const underWay = { now: 0, most: 0 };
    let held = 0;
    const exchange = store.exchange.bind(store);
    store.exchange = async (request) => {
      underWay.most = Math.max(underWay.most, (underWay.now += 1));
      // A trip long enough for the jobs at hand to end meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const result = await exchange(request);
      held = Math.max(held, store.held.size);
      underWay.now -= 1;
      return result;
    };
    on('quick', () => undefined);
    for (let n = 0; n < 20_000; n++) store.add({ type: 'quick' });

    engine.start(4);
    await until(() => store.settled.length === 20_000, { within: 20_000 });

    expect(underWay.most).toBe(most);
    // Claimed, and ended without the store having heard of it yet.
    expect(held).toBeLessThanOrEqual(2 * 404 + 400);
    expect(new Set(store.settled.map(({ id }) => id)).size).toBe(20_000);
  });

  it.each([
    [30, 3],
    [3, 30],
    [3, 100],
  ])(
    'stops with two exchanges under way, which take %i and %i ms, and leaves nothing behind',
    async (firstMs, secondMs) => {
      const { store, engine, told, on } = setUp({ prefetch: 400 });
      Object.assign(store, { exchangesAtOnce: 2 });
      let underWay = 0;
      const exchange = store.exchange.bind(store);
      store.exchange = async (request) => {
        underWay += 1;
        await new Promise((resolve) => setTimeout(resolve, underWay === 1 ? firstMs : secondMs));
        underWay -= 1;
        return exchange(request);
      };
      on('quick', () => undefined);
      for (let n = 0; n < 50_000; n++) store.add({ type: 'quick' });
      engine.start(4);
      await until(() => underWay === 2, { within: 20_000 });

      await engine.stop(1_000, 10);

      expect(store.held.size).toBe(0);
      expect(told).toEqual([]);
    },
  );

  it('gives back what it claimed ahead when the workers stay busy', async () => {
    const { store, engine, on } = setUp({ prefetch: 100 });
    on('short', () => undefined);
    on('long', aborted);
    for (let n = 0; n < 2_000; n++) store.add({ type: 'short' });
    const long = Array.from({ length: 60 }, () => store.add({ type: 'long' }));

    engine.start(2);
    await until(() => engine.attempts().filter(({ type }) => type === 'long').length === 2);
    await until(() => store.held.size === 2);

    const released = long.filter(({ id }) => store.outcomesOf(id).includes('released'));
    const untouched = store.waiting.length;
    expect(released.length + untouched).toBe(58);
  });

  it('gives back on stop what has not started and waits for what runs', async () => {
    const { store, engine, on } = setUp();
    let finish = (): void => undefined;
    on('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => engine.attempts().length === 1);

    const stopped = engine.stop(10_000, 100);
    const late = store.add({ type: 'a' });
    finish();
    await stopped;

    expect(store.outcomesOf(job.id)).toEqual(['completed']);
    expect(store.outcomesOf(late.id)).toEqual([]);
    expect(store.held.size).toBe(0);
  });

  it('tells for how many jobs a stop waits, once that takes a second', async () => {
    const { engine, store, told, on } = setUp();
    on('long', aborted);
    store.add({ type: 'long' });
    engine.start(1);
    await until(() => store.held.size === 1);

    await engine.stop(1_200, 100);

    expect(told).toEqual(['draining']);
  });

  it('gives a job back uncounted when it ends with an error after it was told to stop', async () => {
    const { store, engine, on } = setUp();
    on('a', async (job) => {
      await aborted(job);
      throw new Error('interrupted');
    });
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => engine.attempts().length === 1);

    await engine.stop(0, 1_000);

    expect(store.settled.map(({ outcome }) => outcome)).toEqual([{ kind: 'released', delayMs: 0 }]);
    expect(store.outcomesOf(job.id)).toEqual(['released']);
  });

  it('counts a failure during the drain as a failure', async () => {
    const { store, engine, on } = setUp();
    let fail = (_error: Error): void => undefined;
    on('a', () => new Promise<void>((_resolve, reject) => (fail = reject)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => engine.attempts().length === 1);

    const stopped = engine.stop(10_000, 100);
    fail(new Error('boom'));
    await stopped;

    expect(store.outcomesOf(job.id)).toEqual(['retried']);
  });

  it('abandons a job that ignores the stop, and drops what comes of it later', async () => {
    const { store, engine, told, on } = setUp();
    let finish = (): void => undefined;
    on('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => engine.attempts().length === 1);

    await engine.stop(0, 10);
    finish();
    await new Promise((resolve) => setImmediate(resolve));

    expect(store.outcomesOf(job.id)).toEqual(['abandoned']);
    expect(told).toEqual(['abandoned']);
  });

  it('ends a stop although the store never answers', async () => {
    const { store, engine, told, on } = setUp();
    on('a', () => undefined);
    store.add({ type: 'a' });
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) > 0) throw new Error('down');
    };
    engine.start(1);
    await until(() => told.includes('store-down'));

    await engine.stop(10, 10);

    expect(told).toContain('unsettled');
  });

  it('gives back a claim whose answer comes only after the stop has begun', async () => {
    const { store, engine, told, on } = setUp();
    on('a', () => undefined);
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const exchange = store.exchange.bind(store);
    store.exchange = async (request) => {
      const result = await exchange(request);
      if (result.claimed.length > 0) await answered;
      return result;
    };
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => store.held.size === 1);

    const stopped = engine.stop(10_000, 10);
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    await stopped;

    expect(store.outcomesOf(job.id)).toEqual(['released']);
    expect(told).toEqual([]);
  });

  it('gives the store what is left of the time of a stop to take the outcomes', async () => {
    const { store, engine, told, on } = setUp();
    let finish = (): void => undefined;
    on('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const job = store.add({ type: 'a' });
    engine.start(1);
    await until(() => engine.attempts().length === 1);
    store.fault = () => {
      throw new Error('down');
    };

    const stopped = engine.stop(10_000, 10);
    finish();
    await new Promise((resolve) => setTimeout(resolve, 200));
    store.fault = () => undefined;
    await stopped;

    expect(told).not.toContain('unsettled');
    expect(store.outcomesOf(job.id)).toEqual(['completed']);
  });

  it('runs one job at a time beside the loop', async () => {
    const { store, engine, on } = setUp();
    let runs = 0;
    on('a', () => ++runs);
    const job = store.add({ type: 'a' });

    const results = [await engine.runOne(), await engine.runOne()];

    expect(results).toEqual([true, false]);
    expect(runs).toBe(1);
    expect(store.outcomesOf(job.id)).toEqual(['completed']);
  });

  it('does not reject a tick whose outcome is stored late', async () => {
    const { store, engine, on } = setUp();
    on('a', () => undefined);
    const job = store.add({ type: 'a' });
    let failures = 0;
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) > 0 && ++failures <= 2) throw new Error('deadlock');
    };

    await expect(engine.runOne()).resolves.toBe(true);

    expect(store.outcomesOf(job.id)).toEqual(['completed']);
  });

  it('stores the outcome of a tick during a stop, as long as there is time', async () => {
    const { store, engine, on } = setUp();
    on('a', () => undefined);
    const job = store.add({ type: 'a' });
    let failures = 0;
    store.fault = (request) => {
      if ((request?.settle.length ?? 0) > 0 && ++failures <= 3) throw new Error('deadlock');
    };
    const ticked = engine.runOne();
    await until(() => failures === 1);

    await engine.stop(10_000, 10);

    expect(store.outcomesOf(job.id)).toEqual(['completed']);
    await expect(ticked).resolves.toBe(true);
  });
});
