import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { StoreError } from '../../../lib/model/errors.js';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claim, claimed, settle, StoreRig } from '../../support/store-rig.js';

forEachDatabase((database) => {
  const rig = new StoreRig(database);
  let store: JobStore;

  beforeEach(async () => {
    store = await rig.open();
  });

  afterEach(() => rig.empty());

  describe('the row of a job', () => {
    it('is pending, with whole numbers, when it is new', async () => {
      const before = Date.now();
      const job = aJob({ payload: '"p"', maxRetries: 2, delayMs: 60_000 });

      await store.insert([job]);

      const row = await rig.row();
      expect(row).toMatchObject({
        id: job.id,
        job_type: 'work',
        payload: '"p"',
        status: 'pending',
        attempts: 0,
        max_retries: 2,
        next_run_at: row.created_at + 60_000,
        created_at: expect.any(Number),
        last_error: null,
        interruptions: 0,
        claim_token: null,
        claimed_by: null,
        lease_until: null,
        finished_at: null,
      });
      expect(row.created_at).toBeGreaterThan(before - 60_000);
    });

    it('names its claim while it is running', async () => {
      const { token } = await claimed(store, aJob(), { owner: 'ada', leaseMs: 60_000 });

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'running', claimed_by: 'ada', claim_token: token });
      expect(Math.abs(Number(row.lease_until) - row.created_at - 60_000)).toBeLessThan(30_000);
    });

    it('is gone when the job is completed', async () => {
      await settle(store, await claimed(store, aJob()));

      expect(await rig.rows()).toEqual([]);
    });

    it('keeps the error of a failed job', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'failed', error: 'Kaputt: "ß" 🎉' });

      expect(await rig.row()).toMatchObject({
        status: 'failed',
        attempts: 1,
        last_error: 'Kaputt: "ß" 🎉',
        claim_token: null,
        claimed_by: null,
        lease_until: null,
      });
    });

    it('is due after the delay of a retry, by whole milliseconds', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'retried', delayMs: 4_321, error: 'boom' });

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'pending', attempts: 1, last_error: 'boom', claim_token: null });
      expect(Number.isInteger(row.next_run_at)).toBe(true);
      expect(row.next_run_at).toBeGreaterThanOrEqual(row.created_at + 4_321);
    });

    it('keeps its place among the others when it is given back at once', async () => {
      const job = await claimed(store, aJob({ runAt: 12_345 }));

      await settle(store, job, { kind: 'released', delayMs: 0 });

      expect(await rig.row()).toMatchObject({ status: 'pending', next_run_at: 12_345 });
    });

    it('keeps the last error when a later attempt is given back', async () => {
      const job = await claimed(store, aJob());
      await settle(store, job, { kind: 'retried', delayMs: 0, error: 'boom' });
      const [again] = await claim(store);

      if (again !== undefined) await settle(store, again, { kind: 'released', delayMs: 5 });

      expect(await rig.row()).toMatchObject({ attempts: 1, last_error: 'boom' });
    });

    it('stays running without an owner when the job is abandoned', async () => {
      const job = await claimed(store, aJob());
      const { lease_until } = await rig.row();

      await settle(store, job, { kind: 'abandoned' });

      expect(await rig.row()).toMatchObject({ status: 'running', claimed_by: null, claim_token: null, lease_until });
    });

    it('says how often the worker died, and what the limit is', async () => {
      await claimed(store, aJob());
      await rig.set('interruptions = 2, lease_until = 1');

      await store.recover({ owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 10 });

      const { status, attempts, last_error } = await rig.row();
      expect([status, attempts]).toEqual(['failed', 0]);
      expect(last_error).toMatch(/worker died or lost its lease 3 time\(s\).*maxInterruptions is 3/);
    });

    it('loses no error when text of it is no text for the database', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'failed', error: 'zero \0 byte' });

      expect((await rig.row()).last_error).toBe('zero  byte');
    });
  });

  describe('a row that was set to running by hand', () => {
    it('is due at once without a lease, and that is no interruption', async () => {
      await store.insert([aJob({ delayMs: 60_000 })]);
      await rig.set("status = 'running'");

      const recovered = await store.recover({ owner: 'eve', maxInterruptions: 1, backoffMs: 60_000, limit: 10 });

      expect(recovered).toEqual([expect.objectContaining({ state: 'pending', interruptions: 0 })]);
      expect(await claim(store)).toHaveLength(1);
    });
  });

  describe('numbers', () => {
    it('are numbers, however large', async () => {
      await store.insert([aJob({ maxRetries: 10_000, runAt: 1_764_000_000_000 })]);
      await rig.set('attempts = 1100, interruptions = 12');

      const [job] = await claim(store);

      expect(job).toMatchObject({ attempts: 1100, maxRetries: 10_000, interruptions: 12 });
      expect(typeof job?.createdAt).toBe('number');
    });

    it('count on from 9 to 10 and 11', async () => {
      await store.insert([aJob()]);
      await rig.set('attempts = 9');

      for (const attempts of [9, 10, 11]) {
        const [job] = await claim(store);
        expect(job?.attempts).toBe(attempts);
        if (job !== undefined) await settle(store, job, { kind: 'retried', delayMs: 0, error: 'boom' });
      }
    });

    it('hold a moment in the far future', async () => {
      const runAt = Date.now() + 100 * 365 * 86_400_000;

      await store.insert([aJob({ runAt })]);

      expect((await rig.row()).next_run_at).toBe(runAt);
    });
  });

  describe('a payload', () => {
    it.each([
      ['emoji and Chinese', '{"name":"漢字 🎉"}'],
      ['quotes and backslashes', String.raw`"a'b\"c\\d\\\\e` + '`f"'],
      ['escaped surrogates and zeros', String.raw`"\ud800 \u0000"`],
      ['percent, question mark, dollar', '"100% ? $1 :name"'],
      ['70 KB', JSON.stringify('x'.repeat(70_000))],
      ['1 MB of emoji', JSON.stringify('🎉'.repeat(250_000))],
    ])('comes back byte for byte: %s', async (_what, payload) => {
      const job = await claimed(store, aJob({ payload }));

      expect(job.payload === payload).toBe(true);
    });

    it('comes back whatever it holds', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 40 }), async (texts) => {
          const jobs = texts.map((text) => aJob({ payload: JSON.stringify(text) }));
          await store.insert(jobs);
          const found = await claim(store, { limit: 100 });
          await Promise.all(found.map((job) => settle(store, job)));
          expect(new Map(found.map(({ id, payload }) => [id, payload]))).toEqual(
            new Map(jobs.map(({ id, payload }) => [id, payload])),
          );
        }),
        { numRuns: 25 },
      );
    });
  });

  describe('a job type', () => {
    it.each([
      "a'b",
      'a"b',
      'a`b',
      'a\\b',
      '%',
      '_',
      '--',
      ';drop table rws_jobs',
      '$1',
      '?',
      ':x',
      '漢字 🎉',
      'x'.repeat(255),
    ])('may be %p', async (type) => {
      await store.insert([aJob({ type }), aJob({ type: 'other' })]);

      expect((await claim(store, { types: [type, 'unknown'] })).map((job) => job.type)).toEqual([type]);
      expect((await store.pendingTypes()).toSorted()).toEqual(['other']);
    });
  });

  describe('an insert', () => {
    it('of many jobs stores all of them', async () => {
      await store.insert(someJobs(1_537));

      expect(await rig.rows()).toHaveLength(1_537);
    });

    it('stores none of its jobs when one cannot be stored', async () => {
      const jobs = someJobs(700);

      await expect(store.insert([...jobs, aJob({ id: jobs[3]?.id ?? '' })])).rejects.toThrow(StoreError);

      expect(await rig.rows()).toEqual([]);
    });

    it('shows no payload in its error', async () => {
      const id = uuidv7();
      await store.insert([aJob({ id })]);

      const error: unknown = await store.insert([aJob({ id, payload: '"secret"' })]).catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(StoreError);
      expect(String(error)).not.toContain('secret');
      expect((error as StoreError).cause).toBeDefined();
    });
  });
});
