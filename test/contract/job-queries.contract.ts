import type { ClaimedJob, NewJob } from '../../lib/model/job.js';
import { controllable } from '../../lib/model/job-state.js';
import type { JobFilter, JobGroup, JobQueries, JobRow, PagePlace } from '../../lib/stores/job-queries.js';
import { placeOf } from '../../lib/stores/job-queries.js';
import type { AdministeredStore } from '../../lib/stores/job-store.js';
import { aJob, someJobs } from '../support/a-job.js';
import { claim, claimed, settle } from '../support/store-rig.js';

/** What a store has to offer so that this contract can be tried on it. */
export interface JobQueriesFixture {
  /** A store, open and without jobs. */
  open(): Promise<AdministeredStore>;
  /** Another one over the same jobs. */
  openAnother(): Promise<AdministeredStore>;
  clear(): Promise<void>;
}

/** What every store must do that can be looked at and controlled from outside. */
export function describeJobQueries(fixture: JobQueriesFixture): void {
  let store: AdministeredStore;
  let queries: JobQueries;

  beforeEach(async () => {
    store = await fixture.open();
    ({ queries } = store);
  });

  afterEach(() => fixture.clear());

  const page = (filter: JobFilter, given: { limit?: number; after?: PagePlace } = {}): Promise<readonly JobRow[]> =>
    queries.list({ filter, limit: given.limit ?? 100, after: given.after, payload: 'without payload' });
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

  /** Stores one job and lets it fail. */
  async function failed(given: Parameters<typeof aJob>[0] = {}): Promise<string> {
    const job = await claimed(store, aJob(given));
    await settle(store, job, { kind: 'failed', error: 'boom' });
    return job.id;
  }

  /** All pages, one after the other. */
  async function walk(filter: JobFilter, limit: number): Promise<JobRow[]> {
    const rows: JobRow[] = [];
    let after: PagePlace | undefined;
    for (;;) {
      const found = await page(filter, { limit, ...(after === undefined ? {} : { after }) });
      rows.push(...found);
      const last = found.at(-1);
      if (last === undefined || found.length < limit) return rows;
      after = placeOf(filter.state, last);
    }
  }

  it('lists and counts the jobs of a queue, and those with a tag', async () => {
    const tagged: readonly (readonly string[] | undefined)[] = [
      ['a'],
      ['a', 'b'],
      ['A'],
      ['"a"', 'x,y', 'ü'],
      undefined,
    ];
    const jobs = (): NewJob[] =>
      tagged.flatMap((tags) =>
        [undefined, 'mail'].map((queue) => aJob({ type: tags?.length === 2 ? 'two' : 'one', queue, tags })),
      );
    const types = ['one', 'two'];
    await store.insert(jobs());
    for (const job of await claim(store, { types })) await settle(store, job, { kind: 'failed', error: 'boom' });
    await store.insert(jobs());
    await claim(store, { types });
    await store.insert(jobs());

    const groups: readonly [JobGroup, number][] = [
      [{ tag: 'a' }, 4],
      [{ tag: 'a', queue: 'mail' }, 2],
      [{ tag: 'ü' }, 2],
      [{ tag: '"a"' }, 2],
      [{ tag: 'y' }, 0],
      [{ tag: "a' OR 1 = 1 --" }, 0],
      [{ queue: 'mail' }, 5],
      [{ queue: 'nobody' }, 0],
    ];
    for (const [group, most] of groups) {
      for (const state of ['failed', 'running', 'pending'] as const) {
        expect([group, state, (await walk({ ...group, state }, 2)).length]).toEqual([group, state, most]);
        const counts = (await queries.count(100, group)).filter((count) => count.state === state);
        expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(most);
      }
      expect(await walk(group, 3)).toHaveLength(most * 3);
    }
  });

  describe('find', () => {
    it('tells all that the row knows, numbers as numbers', async () => {
      const job = aJob({ maxRetries: 7, payload: '{"a":1}', runAt: 1_000 });
      await store.insert([job]);

      const row = await queries.find(job.id, 'with payload');

      expect(row).toEqual({
        id: job.id,
        type: 'work',
        state: 'pending',
        attempts: 0,
        maxRetries: 7,
        interruptions: 0,
        runAt: 1_000,
        createdAt: expect.any(Number),
        finishedAt: undefined,
        lastError: undefined,
        claimedBy: undefined,
        leaseUntil: undefined,
        queue: 'default',
        priority: 0,
        uniqueKey: undefined,
        tags: undefined,
        expiresAt: undefined,
        timeout: undefined,
        progress: undefined,
        log: undefined,
        history: [],
        result: undefined,
        payload: '{"a":1}',
      });
    });

    it('tells what is noted of a running job: the last progress, and all lines, each once', async () => {
      const job = await claimed(store, aJob());
      const other = await claimed(store, aJob());
      const progress = (fraction: number): string => JSON.stringify({ fraction, at: 1, attempt: 1 });
      const line = (place: number): string => `${JSON.stringify({ at: 1, n: 1, i: place, text: `ü${place}` })}\n`;

      await store.note([
        { ...job, progress: progress(0.1), log: line(1) },
        { ...other, progress: progress(0.7) },
      ]);
      await store.note([{ ...job, progress: progress(0.2) }]);
      await store.note([{ ...job, log: line(1) + line(2) }]);
      await store.note([{ id: job.id, token: other.token, progress: progress(0.9), log: line(9) }]);

      expect(await queries.find(job.id, 'without payload')).toMatchObject({
        progress: { fraction: 0.2, at: 1, attempt: 1 },
        log: { lines: [1, 2].map((place) => ({ at: 1, attempt: 1, text: `ü${place}` })), isCut: false },
      });
      expect(await queries.find(other.id, 'without payload')).toMatchObject({
        progress: { fraction: 0.7 },
        log: undefined,
      });
    });

    it('tells who holds a running job, and until when', async () => {
      const job = await claimed(store, aJob());

      expect(await queries.find(job.id, 'without payload')).toMatchObject({
        state: 'running',
        claimedBy: 'ada',
        leaseUntil: expect.any(Number),
      });
    });

    it('tells how a job ended', async () => {
      const id = await failed();

      expect(await queries.find(id, 'without payload')).toMatchObject({
        state: 'failed',
        attempts: 1,
        lastError: 'boom',
        finishedAt: expect.any(Number),
        payload: undefined,
      });
    });

    it('knows nothing of a job that is not there', async () => {
      expect(await queries.find(aJob().id, 'with payload')).toBeUndefined();
    });
  });

  describe('count', () => {
    it('counts by state and type', async () => {
      await store.insert([...someJobs(3, { type: 'a' }), aJob({ type: 'b', delayMs: 60_000 })]);
      await claimed(store, aJob({ type: 'c' }));
      await failed({ type: 'd' });
      const id = await failed({ type: 'd' });
      await queries.retry([id], ['failed']);
      await queries.cancel([id], ['pending']);

      const counts = await queries.count(100);

      const lines = counts.map(({ state, type, count, isExact }) => `${state} ${type} ${count} ${isExact}`);
      expect(lines.toSorted()).toEqual([
        'cancelled d 1 true',
        'failed d 1 true',
        'pending a 3 true',
        'pending b 1 true',
        'running c 1 true',
      ]);
    });

    it('counts no further than it is told', async () => {
      await store.insert(someJobs(5));

      expect(await queries.count(4)).toEqual([{ state: 'pending', type: 'work', count: 4, isExact: false }]);
      expect(await queries.count(5)).toEqual([{ state: 'pending', type: 'work', count: 5, isExact: true }]);
    });

    it('takes odd names for what they are', async () => {
      const types = ["a'b", 'a"b', 'a`b', 'a\\b', '%', '_', '--', ';drop table rws_jobs', '__proto__', 'constructor'];
      await store.insert(types.map((type) => aJob({ type })));

      const counts = await queries.count(10);

      expect(counts.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
      for (const type of types) expect(await page({ type })).toHaveLength(1);
    });
  });

  describe('list', () => {
    it.each([1, 2, 3, 100])(
      'walks through waiting jobs of all types as they are due, in pages of %d',
      async (limit) => {
        const jobs = [9, 10, 10, 99, 100, 1_000_000_000_000].map((runAt, index) =>
          aJob({ runAt, type: `type-${index % 3}` }),
        );
        await store.insert(jobs.toReversed());

        expect(idsOf(await walk({ state: 'pending' }, limit))).toEqual(idsOf(jobs));
      },
    );

    it('walks through waiting jobs of one type', async () => {
      const jobs = [5, 5, 7].map((runAt) => aJob({ runAt, type: 'mine' }));
      await store.insert([...jobs, aJob({ type: 'foreign' })]);

      expect(idsOf(await walk({ state: 'pending', type: 'mine' }, 1))).toEqual(idsOf(jobs));
    });

    it.each([undefined, 'work'])('walks through jobs that are over, the latest first (type %s)', async (type) => {
      const ids = [await failed(), await failed(), await failed()];
      await store.insert(someJobs(3));

      const rows = await walk({ state: 'failed', type }, 2);

      expect(idsOf(rows).toSorted()).toEqual(ids.toSorted());
      const moments = rows.map(({ finishedAt }) => Number(finishedAt));
      expect(moments).toEqual(moments.toSorted((a, b) => b - a));
    });

    it.each([undefined, 'work'])('walks through all jobs, the newest first (type %s)', async (type) => {
      const jobs = someJobs(5);
      await store.insert(jobs);
      await claim(store, { limit: 2 });

      expect(idsOf(await walk({ type }, 2))).toEqual(idsOf(jobs.toReversed()));
    });

    it('walks through running jobs as they were stored', async () => {
      const jobs = someJobs(5);
      await store.insert(jobs);
      await claim(store, { limit: 3 });

      expect(idsOf(await walk({ state: 'running' }, 2))).toEqual(idsOf(jobs.slice(0, 3)));
    });

    it('leaves out what was stored before a moment, or from one on', async () => {
      await store.insert([aJob()]);
      const [row] = await page({});
      const createdAt = Number(row?.createdAt);

      expect(await page({ createdFrom: createdAt, createdBefore: createdAt + 1 })).toHaveLength(1);
      expect(await page({ createdFrom: createdAt + 1 })).toEqual([]);
      expect(await page({ createdBefore: createdAt })).toEqual([]);
    });

    it('reads payloads only where they are asked for', async () => {
      await store.insert([aJob({ payload: '"x"' })]);
      const request = { filter: {}, limit: 1, after: undefined };

      expect((await queries.list({ ...request, payload: 'with payload' }))[0]?.payload).toBe('"x"');
      expect((await queries.list({ ...request, payload: 'without payload' }))[0]?.payload).toBeUndefined();
    });
  });

  describe('oldestDue', () => {
    it('names of each type the job that has been due longest', async () => {
      const [a, b] = [aJob({ type: 'a', runAt: 1_000 }), aJob({ type: 'b', runAt: 2_000 })];
      await store.insert([a, b, aJob({ type: 'a', runAt: 3_000 }), aJob({ type: 'c', delayMs: 60_000 })]);

      const oldest = await queries.oldestDue();

      expect(oldest.toSorted((x, y) => (x.type < y.type ? -1 : 1))).toEqual([
        { id: a.id, type: 'a', runAt: 1_000, waitingMs: expect.any(Number) },
        { id: b.id, type: 'b', runAt: 2_000, waitingMs: expect.any(Number) },
      ]);
      expect(oldest.every(({ waitingMs }) => Math.abs(Date.now() - 1_000 - waitingMs) < 3_600_000)).toBe(true);
    });
  });

  describe('claims', () => {
    it('tells who holds how many of which type', async () => {
      await store.insert([...someJobs(3, { type: 'a' }), aJob({ type: 'b' })]);
      await claim(store, { types: ['a'], limit: 2, owner: 'ada' });
      await claim(store, { types: ['a', 'b'], owner: 'bob', leaseMs: 1_000 });

      const claims = await queries.claims();

      expect(claims.map(({ owner, type, count }) => `${owner} ${type} ${count}`)).toEqual([
        'ada a 2',
        'bob a 1',
        'bob b 1',
      ]);
      expect(claims[0]?.endsInMs).toBeGreaterThan(500_000);
    });
  });

  describe('cancel', () => {
    it('ends a waiting job', async () => {
      const job = aJob();
      await store.insert([job]);

      expect(await queries.cancel([job.id], ['pending', 'running'])).toEqual([
        { id: job.id, from: 'pending', claim: undefined },
      ]);

      expect(await claim(store)).toEqual([]);
      expect(await queries.find(job.id, 'without payload')).toMatchObject({
        state: 'cancelled',
        finishedAt: expect.any(Number),
      });
    });

    it('ends a running job and names its claim', async () => {
      const job = await claimed(store, aJob());
      const { id, token } = job;

      expect(await queries.cancel([id], ['pending', 'running'])).toEqual([
        { id, from: 'running', claim: { id, token } },
      ]);
      expect(await queries.find(id, 'without payload')).toMatchObject({ claimedBy: undefined, leaseUntil: undefined });
    });

    it.each(['completed', 'released', 'abandoned'] as const)(
      'lets no later outcome have an effect: %s',
      async (kind) => {
        const job = await claimed(store, aJob());
        await queries.cancel([job.id], ['running']);
        const outcome = kind === 'released' ? { kind, delayMs: 0 } : { kind };

        const { lost } = await store.exchange({ settle: [{ ...job, outcome }], claim: undefined });

        expect(lost).toEqual([{ id: job.id, token: job.token, isCancelled: true }]);
        expect(await queries.find(job.id, 'without payload')).toMatchObject({ state: 'cancelled', attempts: 0 });
      },
    );

    it('is told apart from a lost lease by the heartbeat', async () => {
      await store.insert(someJobs(3));
      const [kept, cancelled, gone] = (await claim(store)) as [ClaimedJob, ClaimedJob, ClaimedJob];
      await queries.cancel([cancelled.id], ['running']);
      await settle(store, gone);

      const lost = await store.extend([kept, cancelled, gone], 60_000);

      expect(lost).toEqual([
        { id: cancelled.id, token: cancelled.token, isCancelled: true },
        { id: gone.id, token: gone.token },
      ]);
    });

    it('leaves a job alone that is in another state', async () => {
      const job = await claimed(store, aJob());

      expect(await queries.cancel([job.id], ['pending'])).toEqual([]);
      expect(await settle(store, job)).toBe('settled');
      expect(await queries.cancel([job.id], ['pending', 'running'])).toEqual([]);
    });

    it('of two at once changes each job once', async () => {
      const other = await fixture.openAnother();
      const jobs = someJobs(50);
      await store.insert(jobs);
      await claim(store, { limit: 25 });

      const answers = await Promise.all(
        [store, other, store, other].map((one) => one.queries.cancel(idsOf(jobs), ['pending', 'running'])),
      );

      expect(idsOf(answers.flat()).toSorted()).toEqual(idsOf(jobs).toSorted());
    });

    it('and the outcome of a job never both take effect', async () => {
      const other = await fixture.openAnother();
      await store.insert(someJobs(40));
      const jobs = await claim(store, { limit: 40 });

      const [{ lost }, cancelled] = await Promise.all([
        store.exchange({
          settle: jobs.map((job) => ({ ...job, outcome: { kind: 'completed' } as const })),
          claim: undefined,
        }),
        other.queries.cancel(idsOf(jobs), ['running']),
      ]);

      expect(idsOf(lost).toSorted()).toEqual(idsOf(cancelled).toSorted());
    });
  });

  describe('retry', () => {
    it.each(controllable.retry)('makes a job new that is %s, and keeps its last error', async (state) => {
      const id = await failed();
      if (state === 'cancelled') {
        await queries.retry([id], ['failed']);
        await queries.cancel([id], ['pending']);
      }

      expect(await queries.retry([id], [state])).toEqual([{ id, from: state }]);

      expect(await queries.find(id, 'without payload')).toMatchObject({
        state: 'pending',
        attempts: 0,
        interruptions: 0,
        finishedAt: undefined,
        lastError: 'boom',
      });
      expect(idsOf(await claim(store))).toEqual([id]);
    });

    it('leaves alone a job whose key another one holds by now, and makes the others new', async () => {
      const plain = await failed();
      const older = await failed({ uniqueKey: 'k' });
      const younger = await failed({ uniqueKey: 'k' });
      await store.admit([aJob({ uniqueKey: 'taken', delayMs: 60_000 })]);
      const late = await failed({ type: 'other', uniqueKey: 'taken' });

      const changed = idsOf(await queries.retry([plain, older, younger, late], ['failed']));

      expect(changed.toSorted()).toEqual([plain, changed.includes(older) ? older : younger, late].toSorted());
      expect(await queries.retry([older, younger], ['failed'])).toEqual([]);
    });

    it('leaves alone what waits, runs or is gone', async () => {
      const running = await claimed(store, aJob());
      const waiting = aJob({ delayMs: 60_000 });
      await store.insert([waiting]);

      expect(await queries.retry([running.id, waiting.id, aJob().id], ['failed', 'cancelled'])).toEqual([]);
      expect(await claim(store)).toEqual([]);
    });
  });

  describe('pauses', () => {
    it('outlive every clean-up', async () => {
      const target = { kind: 'type', name: 'work' } as const;
      await store.pauses.pause(target);

      expect(await store.pruneSlots(100)).toBe(0);
      expect(await store.pauses.list()).toEqual([target]);
    });
  });

  describe('remove', () => {
    it('deletes what waits or is over, and nothing that runs', async () => {
      const running = await claimed(store, aJob());
      const over = await failed();
      const waiting = aJob({ delayMs: 60_000 });
      await store.insert([waiting]);

      const removed = await queries.remove([running.id, over, waiting.id], ['pending', 'failed', 'cancelled']);

      expect(idsOf(removed).toSorted()).toEqual([over, waiting.id].toSorted());
      expect(idsOf(await page({}))).toEqual([running.id]);
      expect(await settle(store, running)).toBe('settled');
    });
  });

  describe('edit', () => {
    it('gives a waiting job another time, payload and number of retries', async () => {
      const job = aJob({ delayMs: 60_000 });
      await store.insert([job]);

      expect(await queries.edit(job.id, { runAt: 5, payload: '"Grüße 🎉"', maxRetries: 9 })).toEqual([
        { id: job.id, from: 'pending' },
      ]);

      expect(await claim(store)).toEqual([
        expect.objectContaining({ id: job.id, payload: '"Grüße 🎉"', maxRetries: 9 }),
      ]);
    });

    it('counts a delay from now', async () => {
      const job = aJob({ runAt: 5 });
      await store.insert([job]);

      await queries.edit(job.id, { delayMs: 3_600_000 });

      expect(await claim(store)).toEqual([]);
      const row = await queries.find(job.id, 'with payload');
      expect(Math.abs(Number(row?.runAt) - Date.now() - 3_600_000)).toBeLessThan(600_000);
      expect(row).toMatchObject({ payload: 'null', maxRetries: 3 });
    });

    it('leaves a running job alone', async () => {
      const job = await claimed(store, aJob());

      expect(await queries.edit(job.id, { maxRetries: 0 })).toEqual([]);
    });

    it('wakes the workers of this process', async () => {
      const job = aJob({ delayMs: 60_000 });
      await store.insert([job]);
      let wakes = 0;
      const stop = await store.listen(() => (wakes += 1));
      const before = wakes;

      await queries.edit(job.id, { delayMs: 0 });

      expect(wakes).toBeGreaterThan(before);
      await stop();
    });
  });

  describe('prune', () => {
    it('deletes of the jobs that are over just those of the state', async () => {
      const id = await failed();
      const other = aJob();
      await store.insert([other]);
      await queries.cancel([other.id], ['pending']);

      expect(await store.prune({ state: 'cancelled', endedForMs: 0, limit: 10 })).toBe(1);

      expect(idsOf(await page({}))).toEqual([id]);
    });
  });
}
