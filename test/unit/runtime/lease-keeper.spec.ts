import { jest } from '@jest/globals';
import { Attempt } from '../../../lib/execution/attempt.js';
import { JobEvents } from '../../../lib/model/events.js';
import { LeaseKeeper } from '../../../lib/runtime/lease-keeper.js';
import { aClaimedJob } from '../../support/a-job.js';
import { ScriptedStore } from '../../support/scripted-store.js';

const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };
const leases = [300, 1_200, 30_000];

class Heartbeats extends ScriptedStore {
  readonly sentAt: number[] = [];

  constructor(private readonly answer: (count: number) => Promise<void>) {
    super();
  }

  override async extend(): Promise<readonly []> {
    this.sentAt.push(performance.now());
    await this.answer(this.sentAt.length);
    return [];
  }
}

const refuse = (): Promise<void> => Promise.reject(new Error('connection lost'));
const stayAway = (): Promise<void> => new Promise(() => undefined);
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let keeper: LeaseKeeper;

interface Watched {
  readonly store: Heartbeats;
  readonly claimedAt: number;
  readonly abortedAt: () => number;
}

/** A claim of just now, its keeper, and the moment at which its attempt was told to end. */
function hold(leaseMs: number, answer: (count: number) => Promise<void>): Watched {
  const store = new Heartbeats(answer);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  keeper = new LeaseKeeper({ store, events: new JobEvents(), clock, leaseMs });
  const claimedAt = performance.now();
  const attempt = new Attempt(aClaimedJob(), claimedAt, { makeLogger: () => silent });
  let abortedAt = Infinity;
  attempt.signal.addEventListener('abort', () => (abortedAt = performance.now()));
  keeper.hold(attempt);
  return { store, claimedAt, abortedAt: () => abortedAt };
}

/** What is left of the lease when the attempt is told to end: a tenth of it, a second at the most. */
const margin = (leaseMs: number): number => Math.min(1_000, leaseMs / 10);

describe('LeaseKeeper', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(async () => {
    const stopped = keeper.stop();
    // What is under way has its deadline.
    await jest.advanceTimersByTimeAsync(60_000);
    await stopped;
    jest.useRealTimers();
  });

  describe.each(leases)('with a lease of %i ms', (leaseMs) => {
    it.each([
      ['fails', refuse],
      ['gets no answer', stayAway],
      ['fails at first and then gets no answer', (count: number) => (count < 3 ? refuse() : stayAway())],
      ['fails late', () => after(leaseMs / 4).then(refuse)],
    ])('aborts before the lease ends, and not before it must, where the heartbeat %s', async (_how, answer) => {
      const { claimedAt, abortedAt } = hold(leaseMs, answer);

      await jest.advanceTimersByTimeAsync(leaseMs * 2);
      const abortedAfter = abortedAt() - claimedAt;

      expect(abortedAfter).toBeLessThanOrEqual(leaseMs - margin(leaseMs));
      expect(abortedAfter).toBeGreaterThanOrEqual(leaseMs - 2 * margin(leaseMs));
    });

    it('counts a lease from the moment at which its renewal was sent, not from that of the answer', async () => {
      const { store, abortedAt } = hold(leaseMs, (count) => (count === 1 ? after(leaseMs / 4) : refuse()));

      await jest.advanceTimersByTimeAsync(leaseMs * 3);

      const [renewedAt = NaN] = store.sentAt;
      expect(abortedAt() - renewedAt).toBeLessThanOrEqual(leaseMs - margin(leaseMs));
    });

    it('renews three times in a lease and aborts nothing while it can', async () => {
      const { store, abortedAt } = hold(leaseMs, () => after(1));

      await jest.advanceTimersByTimeAsync(leaseMs * 4 + 100);

      expect(store.sentAt.length).toBeGreaterThanOrEqual(10);
      expect(store.sentAt.length).toBeLessThanOrEqual(13);
      expect(abortedAt()).toBe(Infinity);
    });
  });
});
