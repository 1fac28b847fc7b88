import { jest } from '@jest/globals';
import { JobEvents } from '../../../lib/model/events.js';
import { Upkeep, type UpkeepSettings } from '../../../lib/runtime/upkeep.js';
import type { ForeignClaims, RecoveredJob, RecoverRequest } from '../../../lib/stores/job-store.js';
import { ScriptedStore } from '../../support/scripted-store.js';

const pollMs = 500;
const longestRestMs = 30_000;

/** The claims of others as they stand from now on: what a lease has left shrinks with the time, until it is taken back. */
class OthersClaims extends ScriptedStore {
  readonly looks: number[] = [];
  readonly recoveredAt: number[] = [];
  private readonly ends = new Map<string, number>();

  holds(owner: string, forMs: number): void {
    this.ends.set(owner, performance.now() + forMs);
  }

  override foreignClaims(): Promise<readonly ForeignClaims[]> {
    const now = performance.now();
    this.looks.push(now);
    return Promise.resolve([...this.ends].map(([owner, end]) => ({ owner, endsInMs: end - now })));
  }

  override recover(): Promise<readonly RecoveredJob[]> {
    const over = [...this.ends].filter(([, end]) => end <= performance.now());
    for (const [owner] of over) {
      this.ends.delete(owner);
      this.recoveredAt.push(performance.now());
    }
    return Promise.resolve(over.map(([id]) => ({ id, type: 'work', interruptions: 1, state: 'pending' as const })));
  }
}

describe('Upkeep', () => {
  let store: OthersClaims;
  let upkeep: Upkeep;
  let isDead: (owner: string) => Promise<boolean>;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new OthersClaims();
    isDead = () => Promise.resolve(false);
  });

  afterEach(async () => {
    await upkeep.stop();
    jest.useRealTimers();
  });

  function start(settings: Partial<UpkeepSettings> = {}): void {
    upkeep = new Upkeep(
      {
        store,
        events: new JobEvents(),
        clock: { now: () => Date.now(), monotonic: () => performance.now() },
        knownTypes: () => undefined,
        attempts: () => [],
        onRecovered: () => undefined,
        isDead: (owner) => isDead(owner),
        onForgotten: () => Promise.resolve(),
      },
      { pollMs, leaseMs: 30_000, owner: 'me', maxInterruptions: 3, interruptionBackoffMs: 0, ...settings },
    );
    upkeep.start();
  }

  it.each([
    ['renews its lease after the machine has slept, or its clock was put forward', 30_000, 0],
    ['does not renew it within half a lease', -1, 1],
  ])('an owner that %s', async (_what, renewedForMs, times) => {
    start();
    store.holds('other', 25_000);
    await jest.advanceTimersByTimeAsync(20_000);

    jest.setSystemTime(Date.now() + 8 * 3_600_000);
    store.holds('other', -1);
    await jest.advanceTimersByTimeAsync(11_000);
    expect(store.recoveredAt).toEqual([]);
    store.holds('other', renewedForMs);
    await jest.advanceTimersByTimeAsync(15_000);

    expect(store.recoveredAt).toHaveLength(times);
  });

  it.each([3_000, 12_345, 29_999])(
    'takes back a job whose lease ends in %i ms at that moment, and does not look before',
    async (forMs) => {
      store.holds('dead', forMs);
      const end = performance.now() + forMs;
      start();

      await jest.advanceTimersByTimeAsync(forMs + pollMs);

      expect(store.recoveredAt).toHaveLength(1);
      expect(store.recoveredAt[0]).toBeGreaterThanOrEqual(end);
      expect(store.recoveredAt[0]).toBeLessThanOrEqual(end + pollMs);
      expect(store.looks.filter((at) => at < end)).toHaveLength(1);
    },
  );

  it('looks again when the first of several leases ends, however long the others are', async () => {
    store.holds('long', 20_000);
    store.holds('short', 2_000);
    const startedAt = performance.now();
    start();

    await jest.advanceTimersByTimeAsync(20_000 + pollMs);

    const after = store.recoveredAt.map((at) => at - startedAt);
    expect(after).toHaveLength(2);
    expect(after[0]).toBeLessThanOrEqual(2_000 + pollMs);
    expect(after[1]).toBeLessThanOrEqual(20_000 + pollMs);
  });

  it('takes back within its own lease and a poll what was claimed and left just after a look', async () => {
    const leaseMs = 1_500;
    start({ leaseMs });
    await jest.advanceTimersByTimeAsync(1);
    store.holds('dead', leaseMs);
    const end = performance.now() + leaseMs;

    await jest.advanceTimersByTimeAsync(leaseMs * 3);

    expect(store.recoveredAt).toHaveLength(1);
    expect(store.recoveredAt[0]).toBeLessThanOrEqual(end + pollMs);
  });

  it('rests no longer than half a minute, however long its own lease is', async () => {
    start({ leaseMs: 3_600_000 });

    await jest.advanceTimersByTimeAsync(longestRestMs * 4 + pollMs);

    expect(store.looks).toHaveLength(5);
  });

  it('looks no more than once in a poll interval', async () => {
    store.holds('dead', 1);
    start();

    await jest.advanceTimersByTimeAsync(pollMs - 1);

    expect(store.looks).toHaveLength(1);
  });

  it('looks again soon after a failure', async () => {
    store.holds('dead', 100);
    let failures = 1;
    isDead = () => (failures-- > 0 ? Promise.reject(new Error('connection lost')) : Promise.resolve(false));
    start();

    await jest.advanceTimersByTimeAsync(1_000 + pollMs);

    expect(store.recoveredAt).toHaveLength(1);
  });

  it('waits for no lease of an owner that is proven to be dead', async () => {
    const requests: unknown[] = [];
    isDead = (owner) => Promise.resolve(owner === 'dead');
    store.holds('live', 20_000);
    store.holds('dead', 20_000);
    store.recover = (request?: RecoverRequest) => {
      requests.push(request?.deadOwners);
      return Promise.resolve([]);
    };
    start();

    await jest.advanceTimersByTimeAsync(1);

    expect(requests).toEqual([['dead']]);
  });
});
