import { type AttemptRecord, decodeHistory, encodeAttempt, longestHistory } from '../../lib/model/attempt-history.js';
import type { ClaimedJob } from '../../lib/model/job.js';
import type { Outcome } from '../../lib/model/outcome.js';
import type { JobStore } from '../../lib/stores/job-store.js';
import { aJob, someJobs } from '../support/a-job.js';
import { forEachDatabase } from '../support/databases.js';
import { claim, claimed, settle, settlement, StoreRig } from '../support/store-rig.js';
import { until } from '../support/until.js';

const line = (attempt: number, error?: string): string =>
  encodeAttempt({ attempt, durationMs: 5, outcome: 'retried', error });

/** What a store keeps of jobs that are over, and of the attempts of all. */
forEachDatabase((database) => {
  const rig = new StoreRig(database);
  let store: JobStore;

  beforeEach(async () => {
    store = await rig.open();
  });

  afterEach(() => rig.empty());

  const settleWith = (job: ClaimedJob, outcome: Outcome, text: string | undefined) =>
    store.exchange({ settle: [{ ...settlement(job, outcome), line: text }], claim: undefined });

  const history = async (): Promise<readonly AttemptRecord[]> => decodeHistory((await rig.row()).history);

  /** Claims the one job again and again, each time settled with a line. */
  async function retried(texts: readonly string[]): Promise<void> {
    await store.insert([aJob()]);
    for (const text of texts) {
      const [job] = (await claim(store)) as [ClaimedJob];
      await settleWith(job, { kind: 'retried', delayMs: 0, error: 'boom' }, text);
    }
  }

  describe('a completed job', () => {
    it('that is kept has its result, its end, and no claim', async () => {
      const result = JSON.stringify({ text: 'ünï "quoted" \\ 🎉' });
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'completed', keep: { keepMs: 60_000, result } });

      const row = await rig.row();
      expect(row).toMatchObject({ status: 'completed', attempts: 0, result, claim_token: null, lease_until: null });
      expect(Math.abs(Number(row.finished_at) - Date.now())).toBeLessThan(600_000);
      expect(Number(row.keep_until) - Number(row.finished_at)).toBe(60_000);
    });

    it('may have no result', async () => {
      const job = await claimed(store, aJob());

      await settle(store, job, { kind: 'completed', keep: { keepMs: Infinity, result: undefined } });

      expect(await rig.row()).toMatchObject({ status: 'completed', result: null });
    });

    it('goes at once beside others that are kept, in one exchange', async () => {
      await store.insert(someJobs(4));
      const jobs = await claim(store);
      const keep = { keepMs: Infinity, result: '1' };

      const { lost } = await store.exchange({
        settle: jobs.map((job, index) => settlement(job, { kind: 'completed', ...(index % 2 === 0 ? {} : { keep }) })),
        claim: undefined,
      });

      expect(lost).toEqual([]);
      const kept = new Set((await rig.rows()).map(({ id }) => id));
      expect(kept).toEqual(new Set([jobs[1]?.id, jobs[3]?.id]));
    });
  });

  describe('the history', () => {
    it('grows by a line for each outcome, with the moment of the store', async () => {
      await retried([line(1, 'a "quoted" \n ünï \\ 🎉'), line(2)]);

      const records = await history();

      expect(records).toEqual([
        {
          attempt: 1,
          durationMs: 5,
          outcome: 'retried',
          error: 'a "quoted" \n ünï \\ 🎉',
          endedAt: expect.any(Number),
        },
        { attempt: 2, durationMs: 5, outcome: 'retried', endedAt: expect.any(Number) },
      ]);
      for (const { endedAt } of records) expect(Math.abs(endedAt - Date.now())).toBeLessThan(600_000);
    });

    it('stays as it is where an outcome has no line', async () => {
      await retried([line(1)]);
      const before = await history();

      await settle(store, ((await claim(store)) as [ClaimedJob])[0], { kind: 'released', delayMs: 0 });

      expect(await history()).toEqual(before);
    });

    it('is empty before the first', async () => {
      await store.insert([aJob()]);

      expect(await history()).toEqual([]);
    });

    it('keeps the newest lines, whole ones, when it gets too long', async () => {
      const texts = Array.from({ length: 40 }, (_, index) => line(index + 1, 'ü'.repeat(490)));
      await retried(texts);

      const records = await history();

      expect((await rig.row()).history).toHaveLength(longestHistory);
      expect(records.length).toBeGreaterThanOrEqual(25);
      expect(records.map(({ attempt }) => attempt)).toEqual(
        Array.from({ length: records.length }, (_, index) => 41 - records.length + index),
      );
    });

    it('has a line for an interruption, and none for a claim that was given up', async () => {
      await claimed(store, aJob());
      await store.recover({ owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 10, deadOwners: ['ada'] });
      const [again] = (await claim(store, { leaseMs: 1 })) as [ClaimedJob];
      await settle(store, again, { kind: 'abandoned' });
      await until(
        async () => (await store.recover({ owner: 'eve', maxInterruptions: 3, backoffMs: 0, limit: 10 })).length === 1,
      );

      expect(await history()).toEqual([{ attempt: 1, outcome: 'interrupted', endedAt: expect.any(Number) }]);
    });
  });

  describe('prune', () => {
    const prune = async (failedForMs: number, limit = 100): Promise<number> =>
      (await store.prune({ state: 'failed', endedForMs: failedForMs, limit })) +
      (await store.prune({ state: 'completed', endedForMs: Infinity, limit }));
    const finish = async (outcome: Outcome): Promise<string> => {
      const job = await claimed(store, aJob());
      await settle(store, job, outcome);
      return job.id;
    };
    const failed = (keepMs?: number): Promise<string> => finish({ kind: 'failed', error: 'boom', keepMs });
    const kept = (keepMs: number): Promise<string> =>
      finish({ kind: 'completed', keep: { keepMs, result: undefined } });
    const ids = async (): Promise<readonly string[]> => (await rig.rows()).map(({ id }) => id).toSorted();

    it('deletes what has been kept until its moment, and nothing else', async () => {
      await kept(0);
      await failed(0);
      const stay = [await kept(600_000), await kept(Infinity), await failed(600_000), await failed(Infinity)];

      expect(await prune(Infinity)).toBe(2);

      expect(await ids()).toEqual(stay.toSorted());
    });

    it('judges failed jobs without a moment of their own by the time of their end', async () => {
      const [old, young, own] = [await failed(), await failed(), await failed(Infinity)];
      const done = await kept(Infinity);
      await rig.set('finished_at = 1000', `id <> '${young}'`);

      expect(await prune(600_000)).toBe(1);

      expect(await ids()).toEqual([young, own, done].toSorted());
      expect(await ids()).not.toContain(old);
    });

    it('never touches a job that waits or runs, whatever its columns say', async () => {
      await claimed(store, aJob());
      await store.insert([aJob({ delayMs: 60_000 })]);
      await rig.set('finished_at = 1000, keep_until = 1000');

      expect(await prune(1)).toBe(0);

      expect(await rig.rows()).toHaveLength(2);
    });

    it('deletes each job once where several processes do so at once', async () => {
      for (let index = 0; index < 12; index += 1) await failed(0);
      const stay = await failed(600_000);
      const others = [store, await rig.openAnother(), await rig.openAnother()];
      const counts: number[] = [];

      // Whoever meets a row that another one is at passes over it: what is left is there the next time.
      while (counts.reduce((sum, count) => sum + count, 0) < 12) {
        counts.push(
          ...(await Promise.all(
            others.map((other) => other.prune({ state: 'failed', endedForMs: Infinity, limit: 5 })),
          )),
        );
      }

      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(12);
      expect(await ids()).toEqual([stay]);
    });

    it('takes the oldest first, and no more than it may of either kind', async () => {
      const made: string[] = [];
      for (let index = 0; index < 3; index += 1) made.push(await kept(0), await failed());
      for (const [index, id] of made.entries()) {
        await rig.set(`finished_at = ${100 - index}`, `id = '${id}'`);
        await rig.set(`keep_until = ${100 - index}`, `id = '${id}' AND keep_until IS NOT NULL`);
      }

      expect(await prune(1, 2)).toBe(4);

      expect(await ids()).toEqual(made.slice(0, 2).toSorted());
    });
  });
});
