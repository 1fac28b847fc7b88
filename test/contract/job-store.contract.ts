import type { ClaimedJob } from '../../lib/model/job.js';
import type { JobStore, RecoverRequest } from '../../lib/stores/job-store.js';
import { aJob, someJobs } from '../support/a-job.js';
import { claim, claimed, settle, settlement } from '../support/store-rig.js';
import { until } from '../support/until.js';

/** What a store has to offer so that the contract can be tried on it. */
export interface JobStoreFixture {
  /** A store, open and without jobs. */
  open(): Promise<JobStore>;
  /** For stores that processes share: another one over the same jobs. */
  openAnother?(): Promise<JobStore>;
  /** Closes what was opened. */
  clear(): Promise<void>;
}

/** What every store must do, whatever is behind it. A bug in one store becomes a test here. */
export function describeJobStore(fixture: JobStoreFixture): void {
  let store: JobStore;

  beforeEach(async () => {
    store = await fixture.open();
  });

  afterEach(() => fixture.clear());

  describe('insert', () => {
    it('stores a job that can be claimed at once', async () => {
      const job = aJob({ payload: '{"a":1}', maxRetries: 7 });

      await store.insert([job]);

      expect(await claim(store)).toEqual([
        expect.objectContaining({
          id: job.id,
          type: 'work',
          payload: '{"a":1}',
          attempts: 0,
          maxRetries: 7,
          interruptions: 0,
        }),
      ]);
    });

    it.each([undefined, 0, 4_000_000_000])('keeps the timeout of a job: %p', async (timeoutMs) => {
      await store.insert([aJob({ timeoutMs })]);

      expect((await claim(store)).map((job) => job.timeoutMs)).toEqual([timeoutMs]);
    });

    it('keeps the context of each job, and none where there is none, through retries too', async () => {
      const jobs = [aJob({ context: '{"a":"ü"}' }), aJob(), aJob({ context: '{}' })];
      await store.insert(jobs);

      const first = await claim(store);
      for (const job of first) await settle(store, job, { kind: 'retried', delayMs: 0, error: 'boom' });
      const second = await claim(store);

      for (const claims of [first, second]) {
        const contexts = new Map(claims.map(({ id, context }) => [id, context]));
        expect(jobs.map(({ id }) => contexts.get(id))).toEqual(['{"a":"ü"}', undefined, '{}']);
      }
    });

    it('hides a job whose delay is not over', async () => {
      await store.insert([aJob({ delayMs: 60_000 })]);

      expect(await claim(store)).toEqual([]);
    });

    it('hides a job until the moment it is meant for', async () => {
      await store.insert([aJob({ runAt: Date.now() + 3_600_000 })]);

      expect(await claim(store)).toEqual([]);
    });

    it('shows a job at once whose moment has passed', async () => {
      await store.insert([aJob({ runAt: 1, delayMs: 60_000 })]);

      expect(await claim(store)).toHaveLength(1);
    });

    it('shows a delayed job when its delay is over', async () => {
      await store.insert([aJob({ delayMs: 20 })]);

      await until(async () => (await claim(store)).length === 1);
    });

    it('accepts no jobs at all', async () => {
      await store.insert([]);

      expect(await claim(store)).toEqual([]);
    });
  });

  describe('claim', () => {
    it('takes the oldest jobs first', async () => {
      const jobs = someJobs(5);
      await store.insert(jobs);

      const found = await claim(store, { limit: 3 });

      expect(found.map(({ id }) => id)).toEqual(jobs.slice(0, 3).map(({ id }) => id));
    });

    it('takes the lowest priority first, and of the same one the oldest', async () => {
      const jobs = [3, 0, -2, 0, undefined].map((priority) => aJob({ priority }));
      await store.insert(jobs);

      const found = [...(await claim(store, { limit: 2 })), ...(await claim(store))];

      expect(found.map(({ id }) => id)).toEqual([2, 1, 3, 4, 0].map((index) => jobs[index]?.id));
    });

    it('is not held up by jobs of a lower priority that are not due', async () => {
      const due = aJob({ priority: 1 });
      await store.insert([aJob({ priority: -1, delayMs: 60_000 }), due]);

      expect((await claim(store)).map(({ id }) => id)).toEqual([due.id]);
    });

    it('takes at the most so many of a type, and no fewer of the others', async () => {
      await store.insert(someJobs(4));
      await store.insert(someJobs(3, { type: 'constructor' }));
      await store.insert(someJobs(2, { type: 'other' }));
      const types = ['work', 'constructor', 'other'];
      const count = (jobs: readonly ClaimedJob[], type: string): number =>
        jobs.filter((job) => job.type === type).length;

      const first = await claim(store, { types, caps: { work: 2, other: 0 } });
      const second = await claim(store, { types, caps: { work: 0 } });
      const third = await claim(store, { types });

      expect(types.map((type) => count(first, type))).toEqual([2, 3, 0]);
      expect(types.map((type) => count(second, type))).toEqual([0, 0, 2]);
      expect(types.map((type) => count(third, type))).toEqual([2, 0, 0]);
    });

    it('takes no job twice', async () => {
      await store.insert(someJobs(3));

      const first = await claim(store, { limit: 2 });
      const second = await claim(store);

      expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(3);
    });

    it('gives each claim a token of its own', async () => {
      await store.insert(someJobs(3));

      const found = await claim(store);

      expect(new Set(found.map(({ token }) => token)).size).toBe(3);
    });

    it('takes no more than were asked for', async () => {
      await store.insert(someJobs(3));

      expect(await claim(store, { limit: 1 })).toHaveLength(1);
    });
  });

  describe('settle', () => {
    it('forgets a completed job', async () => {
      const job = await claimed(store, aJob());

      expect(await settle(store, job)).toBe('settled');
      expect(await claim(store)).toEqual([]);
    });

    it('settles and claims in one go', async () => {
      const done = await claimed(store, aJob());
      const next = aJob();
      await store.insert([next]);

      const request = { types: ['work'], limit: 5, owner: 'ada', leaseMs: 60_000 };
      const result = await store.exchange({ settle: [settlement(done)], claim: request });

      expect(result.lost).toEqual([]);
      expect(result.claimed.map(({ id }) => id)).toEqual([next.id]);
    });

    it('counts a retried attempt and brings the job back', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'retried', delayMs: 0, error: 'boom' });

      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, attempts: 1 })]);
    });

    it('keeps a retried job back until its delay is over', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'retried', delayMs: 60_000, error: 'boom' });

      expect(await claim(store)).toEqual([]);
    });

    it('counts nothing for a released job', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'released', delayMs: 0 });

      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, attempts: 0, interruptions: 0 })]);
    });

    it('keeps a snoozed job back until its delay is over, and counts nothing', async () => {
      const [long, short] = [await claimed(store, aJob()), await claimed(store, aJob())];

      await settle(store, long, { kind: 'snoozed', delayMs: 60_000, reason: 'later' });
      await settle(store, short, { kind: 'snoozed', delayMs: 0, reason: 'later' });

      expect(await claim(store)).toEqual([expect.objectContaining({ id: short.id, attempts: 0, interruptions: 0 })]);
    });

    it('runs no completed job again that is kept', async () => {
      const job = await claimed(store, aJob());

      expect(await settle(store, job, { kind: 'completed', keep: { keepMs: Infinity, result: '7' } })).toBe('settled');

      expect(await claim(store)).toEqual([]);
    });

    it('runs no failed job again', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'failed', error: 'boom' });

      expect(await claim(store)).toEqual([]);
    });

    it('reports a settlement that comes twice as lost', async () => {
      const job = await claimed(store, aJob());
      await settle(store, job);

      expect(await settle(store, job)).toBe('lost');
    });

    it('reports of a whole batch just those that are lost', async () => {
      await store.insert(someJobs(5));
      const jobs = await claim(store);
      const [first, second] = jobs as [ClaimedJob, ClaimedJob];
      await settle(store, first);
      await settle(store, second, { kind: 'released', delayMs: 60_000 });

      const { lost } = await store.exchange({
        settle: jobs.map((job, index) =>
          settlement(job, index % 2 === 0 ? { kind: 'completed' } : { kind: 'failed', error: 'boom' }),
        ),
        claim: undefined,
      });

      expect(lost.toSorted(byId)).toEqual([first, second].map(({ id, token }) => ({ id, token })).toSorted(byId));
    });

    it('changes nothing when there is nothing to do', async () => {
      expect(await store.exchange({ settle: [], claim: undefined })).toEqual({ lost: [], claimed: [] });
    });
  });

  describe('listen', () => {
    it('wakes after an insert', async () => {
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));
      await store.insert([aJob()]);

      await until(() => wakes > 0);

      await stop();
    });
  });

  if (fixture.openAnother !== undefined) describeShared(fixture, () => store);
}

/** What stores must do that processes share: nobody trusts a claim but its owner, and only while it stands. */
function describeShared(fixture: JobStoreFixture, theStore: () => JobStore): void {
  const request: RecoverRequest = { owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 100 };
  let store: JobStore;
  let other: JobStore;

  /** Claims under a lease that ends at once, and waits until somebody else has recovered the job. */
  async function interrupted(job: ClaimedJob | undefined, given: Partial<RecoverRequest> = {}) {
    let found = await other.recover({ ...request, ...given });
    await until(async () => {
      if (found.length === 0) found = await other.recover({ ...request, ...given });
      return found.length > 0;
    });
    expect(found.map(({ id }) => id)).toEqual([job?.id]);
    return found[0];
  }

  beforeEach(async () => {
    store = theStore();
    other = (await fixture.openAnother?.()) ?? store;
  });

  describe('a claimed job', () => {
    it('tells when the job was stored, in epoch milliseconds', async () => {
      const job = await claimed(store, aJob());

      expect(Math.abs(Number(job.createdAt) - Date.now())).toBeLessThan(600_000);
    });
  });

  describe('order', () => {
    it('is that of the moments at which jobs are due, then that of their ids', async () => {
      const [first, second, third] = [aJob({ runAt: 5 }), aJob({ runAt: 5 }), aJob({ runAt: 10 })];
      await store.insert([third, second, first]);

      expect((await claim(store)).map(({ id }) => id)).toEqual([first, second, third].map(({ id }) => id));
    });

    it('is one of numbers, whatever their length', async () => {
      const jobs = [9, 10, 99, 100, 1_000_000_000_000].map((runAt) => aJob({ runAt }));
      await store.insert(jobs.toReversed());

      expect((await claim(store)).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    });
  });

  describe('types', () => {
    it('claims only jobs of the given types', async () => {
      const [mine, foreign] = [aJob({ type: 'mine' }), aJob({ type: 'foreign' })];
      await store.insert([foreign, mine]);

      expect((await claim(store, { types: ['mine', 'other'] })).map(({ id }) => id)).toEqual([mine.id]);
    });

    it('merges several types by the time they are due', async () => {
      const jobs = Array.from({ length: 9 }, (_, index) => aJob({ type: `type-${index % 3}`, runAt: 1_000 + index }));
      await store.insert(jobs);

      const found = await claim(store, { types: ['type-2', 'type-0', 'type-1'], limit: 7 });

      expect(found.map(({ id }) => id)).toEqual(jobs.slice(0, 7).map(({ id }) => id));
    });

    it('takes the oldest of all types, however many wait of each', async () => {
      const jobs = [3, 2, 1].flatMap((age) => someJobs(60, { type: `type-${age}`, runAt: age }));
      await store.insert(jobs);

      const found = await claim(store, { types: ['type-3', 'type-2', 'type-1'], limit: 3 });

      expect(found.map(({ id }) => id)).toEqual(jobs.slice(120, 123).map(({ id }) => id));
    });

    it('claims any type where none are given', async () => {
      const jobs = [aJob({ type: 'a', runAt: 2 }), aJob({ type: 'b', runAt: 1 }), aJob({ type: 'c', runAt: 3 })];
      await store.insert(jobs);

      const found = await claim(store, { types: undefined, limit: 2 });

      expect(found.map(({ type }) => type)).toEqual(['b', 'a']);
    });

    it('claims nothing for an empty list of types', async () => {
      await store.insert([aJob()]);

      expect(await claim(store, { types: [] })).toEqual([]);
    });

    it('tells letters of another case apart', async () => {
      await store.insert([aJob({ type: 'Sync' }), aJob({ type: 'sync' }), aJob({ type: 'sýnc' })]);

      expect((await claim(store, { types: ['sync'] })).map(({ type }) => type)).toEqual(['sync']);
    });

    it('sees the types of pending jobs, due or not, and no others', async () => {
      await store.insert([
        aJob({ type: 'later', delayMs: 60_000 }),
        ...someJobs(3, { type: 'now' }),
        aJob({ type: 'taken' }),
      ]);
      await claim(store, { types: ['taken'] });

      expect((await store.pendingTypes()).toSorted()).toEqual(['later', 'now']);
    });
  });

  describe('two claimers', () => {
    it('never share a job', async () => {
      await store.insert(someJobs(200));

      const found = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          claim(index % 2 === 0 ? store : other, { limit: 10, owner: `o${index}` }),
        ),
      );

      const ids = found.flat().map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('leave no job lying between them', async () => {
      await store.insert(someJobs(120));

      let count = 0;
      await until(async () => {
        const found = await Promise.all([claim(store, { limit: 25 }), claim(other, { limit: 25, owner: 'bob' })]);
        count += found.flat().length;
        return count === 120;
      });

      expect(await claim(other)).toEqual([]);
    });
  });

  describe('a lease', () => {
    it('is not touched while it lasts', async () => {
      await claimed(store, aJob());

      expect(await other.recover(request)).toEqual([]);
    });

    it('ends, and the job is due again', async () => {
      const job = await claimed(store, aJob(), { leaseMs: 1 });

      expect(await interrupted(job)).toEqual({ id: job.id, type: 'work', interruptions: 1, state: 'pending' });
      expect(await claim(other)).toEqual([expect.objectContaining({ id: job.id, attempts: 0, interruptions: 1 })]);
    });

    it('is longer after a heartbeat', async () => {
      const job = await claimed(store, aJob(), { leaseMs: 1 });

      expect(await store.extend([job], 600_000)).toEqual([]);

      expect(await other.recover(request)).toEqual([]);
    });

    it.each([[['work']], [['work', 'other']], [undefined]])(
      'ended too often, the job is passed over by a claim that asks so: %j',
      async (types) => {
        const job = await claimed(store, aJob(), { leaseMs: 1 });
        await interrupted(job);
        const fresh = aJob();
        await store.insert([fresh]);

        expect((await claim(store, { types, mostInterruptions: 0 })).map(({ id }) => id)).toEqual([fresh.id]);
        expect((await claim(store, { types, mostInterruptions: 1 })).map(({ id }) => id)).toEqual([job.id]);
      },
    );

    it('can not be had back by a late heartbeat', async () => {
      const job = await claimed(store, aJob(), { leaseMs: 1 });
      const held = await claimed(store, aJob());
      await interrupted(job);

      expect(await store.extend([job, held], 600_000)).toEqual([expect.objectContaining({ token: job.token })]);
    });

    it('is left alone by its own owner, however late its heartbeat is', async () => {
      const mine = await claimed(store, aJob(), { leaseMs: 1 });
      const later = await claimed(store, aJob(), { leaseMs: 1, owner: 'bob' });

      const found: string[] = [];
      await until(async () => {
        found.push(...(await store.recover({ ...request, owner: 'ada' })).map(({ id }) => id));
        return found.includes(later.id);
      });

      expect(found).toEqual([later.id]);
      expect(await settle(store, mine)).toBe('settled');
    });

    it('ends at once for an owner that is proven dead', async () => {
      const job = await claimed(store, aJob());

      const recovered = await other.recover({ ...request, deadOwners: ['somebody', 'ada'] });

      expect(recovered).toEqual([{ id: job.id, type: 'work', interruptions: 1, state: 'pending' }]);
    });

    it('is shown to others with its owner and its end', async () => {
      await claimed(store, aJob(), { leaseMs: 600_000 });

      const [claims, ...others] = await other.foreignClaims('bob');

      expect(others).toEqual([]);
      expect(claims?.owner).toBe('ada');
      expect(claims?.endsInMs).toBeGreaterThan(500_000);
    });

    it('is not shown to its owner', async () => {
      await claimed(store, aJob());

      expect(await store.foreignClaims('ada')).toEqual([]);
    });
  });

  describe('a lost claim', () => {
    it.each([
      { kind: 'completed' } as const,
      { kind: 'retried', delayMs: 0, error: 'late' } as const,
      { kind: 'failed', error: 'late' } as const,
      { kind: 'released', delayMs: 0 } as const,
      { kind: 'snoozed', delayMs: 0, reason: 'late' } as const,
      { kind: 'completed', keep: { keepMs: Infinity, result: '"late"' } } as const,
      { kind: 'abandoned' } as const,
    ])('can not settle as $kind, even when the same owner has claimed the job again', async (outcome) => {
      const stale = await claimed(store, aJob(), { leaseMs: 1 });
      await interrupted(stale);
      const [current] = (await claim(store)) as [ClaimedJob];

      expect(current.id).toBe(stale.id);
      expect(await settle(store, stale, outcome)).toBe('lost');
      expect(await settle(store, current)).toBe('settled');
    });

    it('is told apart from the standing one in the same batch', async () => {
      const stale = await claimed(store, aJob(), { leaseMs: 1 });
      await interrupted(stale);
      const [current] = (await claim(store)) as [ClaimedJob];

      const { lost } = await store.exchange({ settle: [settlement(stale), settlement(current)], claim: undefined });

      expect(lost).toEqual([{ id: stale.id, token: stale.token }]);
      expect(await claim(store)).toEqual([]);
    });
  });

  describe('an abandoned job', () => {
    it('stays away from others while its lease lasts', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'abandoned' });

      expect(await other.recover(request)).toEqual([]);
      expect(await claim(other)).toEqual([]);
    });

    it('comes back when the lease ends, and that is no interruption', async () => {
      const job = await claimed(store, aJob(), { leaseMs: 1 });
      await settle(store, job, { kind: 'abandoned' });

      expect(await interrupted(job)).toMatchObject({ interruptions: 0, state: 'pending' });
    });
  });

  describe('an interrupted job', () => {
    it('costs no time at first, and the more the oftener', async () => {
      const backoffMs = 600_000;
      const job = await claimed(store, aJob(), { leaseMs: 1 });
      await interrupted(job, { backoffMs });

      const [again] = await claim(store, { leaseMs: 1 });
      expect(again?.id).toBe(job.id);
      expect(await interrupted(job, { backoffMs })).toMatchObject({ interruptions: 2, state: 'pending' });
      expect(await claim(store)).toEqual([]);
    });

    it('ends failed when it is interrupted once too often', async () => {
      const job = await claimed(store, aJob(), { leaseMs: 1 });

      expect(await interrupted(job, { maxInterruptions: 1 })).toMatchObject({ interruptions: 1, state: 'failed' });
      expect(await claim(store)).toEqual([]);
    });

    it('is recovered by one of several', async () => {
      await store.insert(someJobs(20));
      const jobs = await claim(store, { limit: 20, leaseMs: 1 });

      const found: string[] = [];
      await until(async () => {
        const answers = await Promise.all([other, store, other, store].map((one) => one.recover(request)));
        found.push(...answers.flat().map(({ id }) => id));
        return found.length >= 20;
      });

      expect(found.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
    });

    it('is recovered in pieces where there are many', async () => {
      await store.insert(someJobs(5));
      await claim(store, { leaseMs: 1 });
      const pieces: number[] = [];

      await until(async () => {
        const { length } = await other.recover({ ...request, limit: 2 });
        if (length > 0) pieces.push(length);
        return pieces.reduce((sum, piece) => sum + piece, 0) === 5;
      });

      expect(Math.max(...pieces)).toBeLessThanOrEqual(2);
    });
  });

  describe('disown', () => {
    it('gives back what stands under a name that does not hold it', async () => {
      await store.insert(someJobs(3));
      const [held, ...unknown] = (await claim(store)) as [ClaimedJob, ...ClaimedJob[]];

      expect(await store.disown('ada', [held])).toBe(2);

      const found = await claim(other);
      expect(found.map(({ id }) => id)).toEqual(unknown.map(({ id }) => id));
      expect(found.map(({ attempts, interruptions }) => attempts + interruptions)).toEqual([0, 0]);
    });

    it('leaves the claims of others alone', async () => {
      await claimed(store, aJob());

      expect(await other.disown('bob', [])).toBe(0);
    });
  });

  describe('listen', () => {
    it('wakes no more once it is stopped', async () => {
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));
      await store.insert([aJob()]);
      await until(() => wakes > 0);
      await stop();
      const before = wakes;

      await store.insert([aJob()]);

      expect(wakes).toBe(before);
    });
  });
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}
