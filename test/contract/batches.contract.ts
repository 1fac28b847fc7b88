import { v7 as uuidv7 } from 'uuid';
import type { NewBatch } from '../../lib/model/batch-progress.js';
import type { ClaimedJob } from '../../lib/model/job.js';
import type { Outcome } from '../../lib/model/outcome.js';
import type { BatchStore } from '../../lib/stores/batch-store.js';
import type { JobRow } from '../../lib/stores/job-queries.js';
import type { AdministeredStore } from '../../lib/stores/job-store.js';
import { aJob, someJobs } from '../support/a-job.js';
import type { JobQueriesFixture } from './job-queries.contract.js';
import { claim, settle } from '../support/store-rig.js';

const held: Outcome = { kind: 'completed', keep: { keepMs: 0, result: undefined, isHeld: true } };
const failed: Outcome = { kind: 'failed', error: 'boom' };
const rounds = 25;

/** What every store must do that many processes share and that knows batches. */
export function describeBatches(fixture: JobQueriesFixture): void {
  let store: AdministeredStore;
  let batches: BatchStore;

  beforeEach(async () => {
    store = await fixture.open();
    ({ batches } = store);
  });

  afterEach(() => fixture.clear());

  function aBatch(given: Partial<NewBatch> = {}): NewBatch {
    const followUps = { onComplete: aJob({ type: 'done' }), onFailure: aJob({ type: 'sorry' }) };
    return { id: uuidv7(), steps: [someJobs(2)], ...followUps, ...given };
  }

  async function listed(type: string): Promise<readonly JobRow[]> {
    return store.queries.list({ filter: { type }, limit: 1_000, after: undefined, payload: 'without payload' });
  }

  async function settleAll(jobs: readonly ClaimedJob[], outcome: Outcome): Promise<void> {
    for (const job of jobs) expect(await settle(store, job, outcome)).toBe('settled');
  }

  describe('insert', () => {
    it('stores the jobs of the first step as members, and tells a claim so', async () => {
      const batch = aBatch({ steps: [someJobs(2), someJobs(1)] });

      const { jobIds, total } = await batches.insert(batch);

      expect(total).toBe(3);
      expect(jobIds).toEqual(batch.steps.flat().map(({ id }) => id));
      const jobs = await claim(store);
      expect(jobs.map(({ id, batchId, batch: follows }) => [id, batchId, follows])).toEqual(
        jobIds.slice(0, 2).map((id) => [id, batch.id, undefined]),
      );
    });

    it('stores nothing when one of the jobs cannot be stored', async () => {
      const [job] = someJobs(1);
      const twice = aBatch({ steps: [[...someJobs(2), ...(job === undefined ? [] : [job, job])]] });

      await expect(batches.insert(twice)).rejects.toThrow(/could not store a batch/);

      expect(await claim(store)).toEqual([]);
      expect(await batches.find(twice.id)).toBeUndefined();
    });
  });

  describe('advance', () => {
    it('leaves a batch alone while one of its jobs waits or runs', async () => {
      const batch = aBatch();
      await batches.insert(batch);

      expect(await batches.idle([batch.id])).toEqual([]);
      expect(await batches.advance(batch.id)).toBe('open');
      const [first, second] = await claim(store, { limit: 1 });
      expect(second).toBeUndefined();
      if (first !== undefined) await settle(store, first, held);
      await claim(store);
      expect(await batches.idle([batch.id])).toEqual([]);
      expect(await batches.advance(batch.id)).toBe('open');
      expect(await listed('done')).toEqual([]);
    });

    it.each([
      ['done', held, { completed: 2, failed: 0 }],
      ['sorry', failed, { completed: 0, failed: 2 }],
    ])('ends it with %s, once, when none is left, and tells that job of it', async (type, outcome, counts) => {
      const batch = aBatch();
      await batches.insert(batch);
      await settleAll(await claim(store), outcome);

      expect(await batches.idle([batch.id, batch.id])).toEqual([batch.id]);
      expect(await batches.advance(batch.id)).toBe('ended');
      expect(await batches.advance(batch.id)).toBe('ended');

      const follows = await claim(store, { types: ['done', 'sorry'] });
      expect(follows).toMatchObject([{ type, batchId: undefined, batch: { id: batch.id, total: 2, ...counts } }]);
      expect(await batches.find(batch.id)).toMatchObject({ total: 2, ...counts });
    });

    it('enters the next step, and ends with the last one', async () => {
      const batch = aBatch({ steps: [someJobs(1), someJobs(2), someJobs(1)] });
      await batches.insert(batch);
      for (const size of [1, 2, 1]) {
        const jobs = await claim(store);
        expect(jobs).toHaveLength(size);
        await settleAll(jobs, held);
        expect(await batches.advance(batch.id)).toBe(
          size === 1 && jobs[0]?.id === batch.steps[2]?.[0]?.id ? 'ended' : 'open',
        );
      }

      expect(await listed('done')).toHaveLength(1);
      expect(await batches.find(batch.id)).toMatchObject({ state: 'completed', total: 4, completed: 4, failed: 0 });
    });

    it('does so once for several who come at the same moment, whoever ended the last jobs', async () => {
      const other = await fixture.openAnother();
      const both = [store, other];
      const made = Array.from({ length: rounds }, () => aBatch());
      for (const batch of made) await batches.insert(batch);
      const jobs = await claim(store, { limit: rounds * 2 });
      const end = async (who: AdministeredStore, job: ClaimedJob): Promise<void> => {
        await settle(who, job, held);
        const [id] = await who.batches.idle([job.batchId ?? '']);
        if (id !== undefined) await who.batches.advance(id);
      };

      for (const { id } of made) {
        const members = jobs.filter(({ batchId }) => batchId === id);
        await Promise.all(members.map((job, index) => end(both[index] ?? store, job)));
      }

      expect(await listed('done')).toHaveLength(rounds);
      expect(await listed('sorry')).toEqual([]);
    });

    it('goes on as one when all ask for the same batch', async () => {
      const other = await fixture.openAnother();
      const batch = aBatch({ steps: [someJobs(1), someJobs(3)] });
      await batches.insert(batch);
      await settleAll(await claim(store), held);

      const asked = [store, other, store, other].map((each) => each.batches.advance(batch.id));
      expect(await Promise.all(asked)).toEqual(['open', 'open', 'open', 'open']);

      expect(await claim(store)).toHaveLength(3);
    });
  });

  describe('release', () => {
    it('deletes completed members page by page, and keeps those that have a retention', async () => {
      const batch = aBatch({ steps: [someJobs(5)] });
      await batches.insert(batch);
      const [kept, ...others] = await claim(store);
      if (kept === undefined) throw new Error('nothing to claim');
      await settleAll(others, held);
      await settle(store, kept, { kind: 'completed', keep: { keepMs: 60_000, result: '7', isHeld: true } });
      const prune = { state: 'completed', endedForMs: 0, limit: 100 } as const;
      expect(await store.prune(prune)).toBe(0);
      await batches.advance(batch.id);

      const first = await batches.release(batch.id, undefined, 3);
      expect(await batches.release(batch.id, first, 3)).toBeUndefined();
      // Once more changes nothing.
      expect(await batches.release(batch.id, undefined, 3)).toBeUndefined();

      expect((await listed('work')).map(({ id }) => id)).toEqual([kept.id]);
      expect(await store.prune(prune)).toBe(0);
      expect(await store.queries.find(kept.id, 'with payload')).toMatchObject({ state: 'completed', result: '7' });
    });
  });

  describe('page', () => {
    it('goes through the batches that are not closed, in their order, and says which are idle', async () => {
      const made = Array.from({ length: 5 }, (_, n) => aBatch({ steps: [someJobs(1, { type: `t${n}` })] }));
      for (const batch of made) await batches.insert(batch);
      const [first, second, third, fourth, fifth] = made.map(({ id }) => id);
      await settleAll(await claim(store, { types: ['t1', 't4'] }), held);
      await claim(store, { types: ['t2'] });

      expect(await batches.page(undefined, 2)).toEqual({ idle: [second], open: 2, next: second });
      expect(await batches.page(second, 2)).toEqual({ idle: [], open: 2, next: fourth });
      expect(await batches.page(fourth, 2)).toEqual({ idle: [fifth], open: 1, next: undefined });
      await batches.close(second ?? '');
      expect(await batches.page(first, 1)).toEqual({ idle: [second], open: 1, next: second });
      await batches.advance(second ?? '');
      expect(await batches.page(first, 1)).toEqual({ idle: [second], open: 1, next: second });
      await batches.close(second ?? '');
      expect(await batches.page(first, 1)).toEqual({ idle: [], open: 1, next: third });
    });

    it('passes over one that has ended as long as one of its jobs, retried by hand, is under way', async () => {
      const batch = aBatch({ steps: [someJobs(1)] });
      await batches.insert(batch);
      const [job] = await claim(store);
      if (job === undefined) throw new Error('nothing to claim');
      await settle(store, job, failed);
      // Retried before the end, and found by the process that ends the batch only afterwards.
      await store.queries.retry([job.id], ['failed']);
      expect(await batches.advance(batch.id)).toBe('open');
      await settleAll(await claim(store), failed);
      await batches.advance(batch.id);
      await store.queries.retry([job.id], ['failed']);

      expect((await store.queries.find(job.id, 'without payload'))?.batchId).toBeUndefined();
      expect(await batches.page(undefined, 10)).toEqual({ idle: [batch.id], open: 1, next: undefined });
    });
  });

  it('forgets batches that were closed long ago, and no others', async () => {
    const [open, over] = [aBatch(), aBatch({ steps: [] })];
    await batches.insert(open);
    await batches.insert(over);

    expect(await batches.prune(0, 10)).toBe(0);
    await batches.close(over.id);
    expect(await batches.prune(60_000, 10)).toBe(0);
    expect(await batches.prune(0, 10)).toBe(1);

    expect(await batches.find(over.id)).toBeUndefined();
    expect(await batches.find(open.id)).toMatchObject({ state: 'open', total: 2, completed: 0, failed: 0 });
  });
}
