import type { EnqueueResult } from '../../lib/model/enqueue-result.js';
import type { NewJob } from '../../lib/model/job.js';
import type { Outcome } from '../../lib/model/outcome.js';
import type { JobStore } from '../../lib/stores/job-store.js';
import { aJob } from '../support/a-job.js';
import { claim, settle } from '../support/store-rig.js';
import { until } from '../support/until.js';
import type { JobStoreFixture } from './job-store.contract.js';

/** A job with a key; say only what matters. */
export function aKeyedJob(given: Partial<NewJob> = {}): NewJob {
  return aJob({ uniqueKey: 'customer-1', ...given });
}

async function admitOne(store: JobStore, job: NewJob): Promise<EnqueueResult | undefined> {
  return (await store.admit([job]))[0];
}

const ends: readonly Outcome[] = [{ kind: 'completed' }, { kind: 'failed', error: 'boom' }, { kind: 'expired' }];
const pauses: readonly Outcome[] = [
  { kind: 'retried', delayMs: 0, error: 'boom' },
  { kind: 'released', delayMs: 0 },
];

/** What every store must do with jobs of which not all may be stored, and with what comes with a job. */
export function describeAdmission(fixture: JobStoreFixture): void {
  let store: JobStore;

  beforeEach(async () => {
    store = await fixture.open();
  });

  afterEach(() => fixture.clear());

  describe('admit', () => {
    it('stores a job whose key is free', async () => {
      const job = aKeyedJob();

      expect(await admitOne(store, job)).toEqual({ id: job.id, deduplicated: false, outcome: 'stored' });
      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id })]);
    });

    it('stores nothing while another job with the key waits', async () => {
      const job = aKeyedJob({ payload: '1', delayMs: 1 });
      await store.admit([job]);

      expect(await admitOne(store, aKeyedJob({ payload: '2' }))).toEqual({
        id: job.id,
        deduplicated: true,
        outcome: 'waiting',
      });
      let found = await claim(store);
      await until(async () => found.length > 0 || (found = await claim(store)).length > 0);
      expect(found).toEqual([expect.objectContaining({ id: job.id, payload: '1' })]);
      expect(await claim(store)).toEqual([]);
    });

    it('stores nothing while another job with the key runs', async () => {
      const job = aKeyedJob();
      await store.admit([job]);
      await claim(store);

      expect(await admitOne(store, aKeyedJob())).toEqual({ id: job.id, deduplicated: true, outcome: 'running' });
      expect(await claim(store)).toEqual([]);
    });

    it.each(pauses)('keeps the key of a job that is to run again: $kind', async (outcome) => {
      const job = aKeyedJob();
      await store.admit([job]);
      const [running] = await claim(store);
      if (running !== undefined) await settle(store, running, outcome);

      expect(await admitOne(store, aKeyedJob())).toMatchObject({ id: job.id, outcome: 'waiting' });
      expect((await claim(store)).map(({ id }) => id)).toEqual([job.id]);
    });

    it.each(ends)('frees the key of a job that is over: $kind', async (outcome) => {
      await store.admit([aKeyedJob()]);
      const [running] = await claim(store);
      if (running !== undefined) await settle(store, running, outcome);
      const next = aKeyedJob();

      expect(await admitOne(store, next)).toMatchObject({ id: next.id, outcome: 'stored' });
      expect((await claim(store)).map(({ id }) => id)).toEqual([next.id]);
    });

    it.each([
      ['Customer-1', 'another case'],
      ['customer-1x', 'a longer one'],
      ['cüstomer-1', 'another letter'],
      ["a'b", 'a quote'],
      ['a"b', 'a double quote'],
      ['a`b', 'a backtick'],
      ['a\\b', 'a backslash'],
      ['%', 'a wildcard'],
      ['_', 'another wildcard'],
      ['--', 'a comment'],
      [';drop', 'a statement'],
      ['__proto__', 'the name of something else'],
      ['ß'.repeat(255), 'as long as can be'],
      ['🎉', 'beyond the basic plane'],
    ])('takes the key %s for %s', async (uniqueKey) => {
      await store.admit([aKeyedJob()]);
      const job = aKeyedJob({ uniqueKey });

      expect(await admitOne(store, job)).toMatchObject({ id: job.id, outcome: 'stored' });
      expect(await admitOne(store, aKeyedJob({ uniqueKey }))).toMatchObject({ id: job.id, outcome: 'waiting' });
    });

    it('counts a key within its job type', async () => {
      const [one, other] = [aKeyedJob({ type: 'a', uniqueKey: 'b:c' }), aKeyedJob({ type: 'a:b', uniqueKey: 'c' })];

      const results = await store.admit([one, other]);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'stored']);
    });

    it('gives a waiting job what another one says that replaces it', async () => {
      const job = aKeyedJob({ payload: '"old"', delayMs: 3_600_000, tags: ['old'], expiresInMs: 7_200_000 });
      await store.admit([job]);

      const given = { payload: '"new"', maxRetries: 9, tags: ['new'], onDuplicate: 'replace' } as const;
      expect(await admitOne(store, aKeyedJob(given))).toEqual({
        id: job.id,
        deduplicated: true,
        outcome: 'replaced',
      });

      const [found, ...others] = await claim(store);
      expect(found).toMatchObject({ id: job.id, payload: '"new"', maxRetries: 9, tags: ['new'] });
      expect(found?.expiresInMs).toBeUndefined();
      expect(others).toEqual([]);
    });

    it('puts a job off that is replaced by a later one, as often as that happens', async () => {
      const job = aKeyedJob();
      await store.admit([job]);

      for (let round = 0; round < 3; round += 1) {
        await store.admit([aKeyedJob({ delayMs: 3_600_000 + round, onDuplicate: 'replace' })]);
        expect(await claim(store)).toEqual([]);
      }
      await store.admit([aKeyedJob({ payload: '"last"', onDuplicate: 'replace' })]);

      expect(await claim(store)).toEqual([expect.objectContaining({ id: job.id, payload: '"last"' })]);
      expect(await claim(store)).toEqual([]);
    });

    it('gives a replaced job all of its attempts', async () => {
      await store.admit([aKeyedJob()]);
      const [running] = await claim(store);
      if (running !== undefined) await settle(store, running, { kind: 'retried', delayMs: 3_600_000, error: 'boom' });

      await store.admit([aKeyedJob({ onDuplicate: 'replace' })]);

      expect(await claim(store)).toEqual([expect.objectContaining({ id: running?.id, attempts: 0 })]);
    });

    it('does not touch a running job that another one is to replace', async () => {
      const job = aKeyedJob({ payload: '"old"' });
      await store.admit([job]);
      const [running] = await claim(store);

      expect(await admitOne(store, aKeyedJob({ payload: '"new"', onDuplicate: 'replace' }))).toMatchObject({
        id: job.id,
        outcome: 'running',
      });

      if (running !== undefined) expect(await settle(store, running)).toBe('settled');
      expect(await claim(store)).toEqual([]);
    });

    it('stores one of several in one call', async () => {
      const jobs = ['"a"', '"b"', '"c"'].map((payload) => aKeyedJob({ payload }));

      const results = await store.admit(jobs);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'waiting', 'waiting']);
      expect(new Set(results.map(({ id }) => id))).toEqual(new Set([jobs[0]?.id]));
      expect(await claim(store)).toEqual([expect.objectContaining({ id: jobs[0]?.id, payload: '"a"' })]);
    });

    it('stores of several in one call what the last one says that replaces', async () => {
      const jobs = [aKeyedJob({ payload: '"a"' }), aKeyedJob({ payload: '"b"', onDuplicate: 'replace' }), aKeyedJob()];

      const results = await store.admit(jobs);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'replaced', 'waiting']);
      expect(await claim(store)).toEqual([expect.objectContaining({ id: jobs[0]?.id, payload: '"b"' })]);
    });

    it('stores jobs without a key beside duplicates, and answers in the order of the call', async () => {
      const [taken, free] = [aKeyedJob(), aKeyedJob({ uniqueKey: 'a' })];
      await store.admit([taken]);
      const plain = [aJob(), aJob()];

      const results = await store.admit([plain[0] ?? aJob(), aKeyedJob(), free, plain[1] ?? aJob()]);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'waiting', 'stored', 'stored']);
      expect(results.map(({ id }) => id)).toEqual([plain[0]?.id, taken.id, free.id, plain[1]?.id]);
      expect(await claim(store)).toHaveLength(4);
    });

    it('stores in the place of a job whose time is over before it could run', async () => {
      const job = aKeyedJob({ payload: '"old"', expiresInMs: 1, delayMs: 0 });
      await store.admit([job]);

      let result: EnqueueResult | undefined;
      await until(async () => {
        result = await admitOne(store, aKeyedJob({ payload: '"new"' }));
        return result?.outcome !== 'waiting';
      });

      expect(result).toMatchObject({ id: job.id, outcome: 'replaced' });
      const [found] = await claim(store);
      expect(found).toMatchObject({ payload: '"new"' });
      expect(found?.expiresInMs).toBeUndefined();
    });

    it('accepts no jobs at all', async () => {
      expect(await store.admit([])).toEqual([]);
    });
  });

  describe('a job', () => {
    it('brings its tags along', async () => {
      await store.insert([aJob({ tags: ['a', '"ß"', '🎉'] }), aJob()]);

      expect((await claim(store)).map(({ tags }) => tags)).toEqual([['a', '"ß"', '🎉'], undefined]);
    });

    it('tells how much time it has left to start', async () => {
      await store.insert([
        aJob({ expiresInMs: 600_000 }),
        aJob({ expiresAt: Date.now() + 600_000 }),
        aJob({ expiresAt: 1_000_000_000_000 }),
        aJob(),
      ]);

      const left = (await claim(store)).map(({ expiresInMs }) => expiresInMs);

      expect(left.slice(0, 2).map((ms) => ms !== undefined && ms > 300_000 && ms < 900_000)).toEqual([true, true]);
      expect(left[2]).toBeLessThan(0);
      expect(left[3]).toBeUndefined();
    });
  });

  if (fixture.openAnother !== undefined) describeShared(fixture, () => store);
}

/** What stores must do that processes share. */
function describeShared(fixture: JobStoreFixture, theStore: () => JobStore): void {
  let store: JobStore;
  let other: JobStore;

  beforeEach(async () => {
    store = theStore();
    other = (await fixture.openAnother?.()) ?? store;
  });

  describe('many at once', () => {
    it('store one job for a key, and all say which', async () => {
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, index) => admitOne(index % 2 === 0 ? store : other, aKeyedJob())),
      );

      const stored = results.filter((result) => result?.outcome === 'stored');
      expect(stored).toHaveLength(1);
      expect(new Set(results.map((result) => result?.id))).toEqual(new Set([stored[0]?.id]));
      expect(await claim(store, { limit: 100 })).toHaveLength(1);
    });

    it('store one job for each of many keys, in whatever order they come', async () => {
      const keys = Array.from({ length: 30 }, (_, index) => `key-${index}`);
      const batches = [keys, keys.toReversed(), keys, keys.toReversed()];

      const results = await Promise.all(
        batches.map((batch, index) =>
          (index % 2 === 0 ? store : other).admit(batch.map((uniqueKey) => aKeyedJob({ uniqueKey }))),
        ),
      );

      expect(results.flat().filter(({ outcome }) => outcome === 'stored')).toHaveLength(keys.length);
      expect(await claim(store, { limit: 100 })).toHaveLength(keys.length);
    });

    it('replace one job, and the last word is one of theirs', async () => {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          admitOne(
            index % 2 === 0 ? store : other,
            aKeyedJob({ payload: String(index), delayMs: 60_000, onDuplicate: 'replace' }),
          ),
        ),
      );

      expect(results.filter((result) => result?.outcome === 'stored')).toHaveLength(1);
      expect(results.filter((result) => result?.outcome === 'replaced')).toHaveLength(19);
    });

    it('let one job through a throttle', async () => {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          admitOne(index % 2 === 0 ? store : other, aJob({ throttle: { key: '', windowMs: 600_000 } })),
        ),
      );

      const stored = results.filter((result) => result?.outcome === 'stored');
      expect(stored).toHaveLength(1);
      expect(new Set(results.map((result) => result?.id))).toEqual(new Set([stored[0]?.id]));
      expect(await claim(store, { limit: 100 })).toHaveLength(1);
    });
  });

  describe('a key', () => {
    it('is kept by an interrupted job that runs again', async () => {
      const job = aKeyedJob();
      await store.admit([job]);
      await claim(store);
      await other.recover({ owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 9, deadOwners: ['ada'] });

      expect(await admitOne(other, aKeyedJob())).toMatchObject({ id: job.id, outcome: 'waiting' });
      expect((await claim(other)).map(({ id }) => id)).toEqual([job.id]);
    });

    it('is freed by a job that was interrupted too often', async () => {
      await store.admit([aKeyedJob()]);
      await claim(store);
      await other.recover({ owner: 'eve', maxInterruptions: 1, backoffMs: 0, limit: 9, deadOwners: ['ada'] });

      expect(await admitOne(other, aKeyedJob())).toMatchObject({ outcome: 'stored' });
    });
  });

  describe('a throttle', () => {
    const throttled = (given: Partial<NewJob> = {}): NewJob =>
      aJob({ throttle: { key: 'ada', windowMs: 600_000 }, ...given });

    it('outlives the job that it has let through', async () => {
      const job = throttled();
      await store.admit([job]);
      const [running] = await claim(store);
      if (running !== undefined) await settle(store, running);

      expect(await admitOne(other, throttled())).toEqual({ id: job.id, deduplicated: true, outcome: 'throttled' });
      expect(await claim(store)).toEqual([]);
    });

    it('is over at the end of its window', async () => {
      const window = { throttle: { key: '', windowMs: 1 } };
      await store.admit([throttled(window)]);

      await until(async () => (await admitOne(store, throttled(window)))?.outcome === 'stored');
    });

    it('is one for each key and each job type', async () => {
      const jobs = [
        throttled(),
        throttled({ throttle: { key: 'Ada', windowMs: 1_000 } }),
        throttled({ type: 'other' }),
        throttled(),
      ];

      const results = await store.admit(jobs);

      expect(results.map(({ outcome }) => outcome)).toEqual(['stored', 'stored', 'stored', 'throttled']);
      expect(results[3]?.id).toBe(jobs[0]?.id);
    });

    it('is deleted when it is over, and not before', async () => {
      await store.admit([throttled(), throttled({ throttle: { key: 'short', windowMs: 1 } })]);

      await until(async () => (await store.pruneSlots(10)) === 1);

      expect(await store.pruneSlots(10)).toBe(0);
      expect(await admitOne(store, throttled())).toMatchObject({ outcome: 'throttled' });
    });

    it('is deleted in pieces where there are many', async () => {
      await store.admit(
        Array.from({ length: 5 }, (_, index) => throttled({ throttle: { key: `k${index}`, windowMs: 1 } })),
      );
      const pieces: number[] = [];

      await until(async () => {
        pieces.push(await store.pruneSlots(2));
        return pieces.reduce((sum, piece) => sum + piece, 0) === 5;
      });

      expect(Math.max(...pieces)).toBe(2);
    });
  });

  describe('an expired job', () => {
    it('is failed, and has used up no attempt', async () => {
      const job = aKeyedJob();
      await store.admit([job]);
      const [running] = await claim(store);
      if (running === undefined) throw new Error('there was nothing to claim');

      expect(await settle(store, running, { kind: 'expired' })).toBe('settled');
      expect(await claim(store)).toEqual([]);
    });
  });
}
