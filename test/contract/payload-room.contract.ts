import type { ClaimedJob, NewJob } from '../../lib/model/job.js';
import type { JobStore, LimitedClaimRequest } from '../../lib/stores/job-store.js';
import { aJob } from '../support/a-job.js';
import { claim, settle } from '../support/store-rig.js';
import type { JobStoreFixture } from './job-store.contract.js';

/** A job whose payload has so many characters. */
function sized(characters: number, given: Partial<NewJob> = {}): NewJob {
  return aJob({ payload: JSON.stringify('x'.repeat(characters - 2)), ...given });
}

function idsOf(jobs: readonly { readonly id: string }[]): readonly string[] {
  return jobs.map(({ id }) => id);
}

/** What every store must do whose jobs do not lie in this process anyway: a claim brings no more than there is room for. */
export function describePayloadRoom(fixture: JobStoreFixture): void {
  let store: JobStore;

  beforeEach(async () => {
    store = await fixture.open();
  });

  afterEach(() => fixture.clear());

  describe('a claim with little room', () => {
    it('takes the first jobs, as long as they fit, whole, and marks no others', async () => {
      const jobs = Array.from({ length: 50 }, () => sized(1_000_000));
      await store.insert(jobs);

      const first = await claim(store, { limit: 100, room: 5_500_000 });
      const second = await claim(store, { limit: 100, room: 3_000_000 });
      const rest = await claim(store, { limit: 100 });

      expect(idsOf(first)).toEqual(idsOf(jobs.slice(0, 5)));
      expect(idsOf(second)).toEqual(idsOf(jobs.slice(5, 8)));
      expect(idsOf(rest)).toEqual(idsOf(jobs.slice(8)));
      expect([...first, ...second].every(({ payload }) => payload === jobs[0]?.payload)).toBe(true);
    }, 60_000);

    it('takes a job that is larger than the room, alone, unless it goes on with another claim', async () => {
      const jobs = [sized(5_000), sized(10), sized(5_000)];
      await store.insert(jobs);

      expect(await claim(store, { room: 1_000, isFurther: true })).toEqual([]);
      expect(idsOf(await claim(store, { room: 1_000 }))).toEqual(idsOf(jobs.slice(0, 1)));
      expect(idsOf(await claim(store, { room: 1_000, isFurther: true }))).toEqual(idsOf(jobs.slice(1, 2)));
    });

    it('passes no job over for one behind it that would fit, and fills the room to its last character', async () => {
      const jobs = [sized(300), sized(200), sized(501), sized(10)];
      await store.insert(jobs);

      const first = await claim(store, { room: 1_000 });
      const second = await claim(store, { room: 511 });

      expect(idsOf(first)).toEqual(idsOf(jobs.slice(0, 2)));
      expect(idsOf(second)).toEqual(idsOf(jobs.slice(2)));
    });

    it('takes none that is too large behind one that carries nothing', async () => {
      const jobs = [aJob({ payload: '' }), sized(5_000)];
      await store.insert(jobs);

      expect(idsOf(await claim(store, { room: 1_000 }))).toEqual(idsOf(jobs.slice(0, 1)));
    });

    it('merges jobs of several types, queues and priorities before it looks at what fits', async () => {
      const places: readonly Partial<NewJob>[] = [{}, { queue: 'mail' }, { type: 'other' }, { priority: -1 }];
      const jobs = [...places, ...places].map((given) => sized(1_000, given));
      await store.insert(jobs);
      const inOrder = [3, 7, 0, 1, 2, 4, 5, 6].map((index) => jobs[index]?.id);
      const take = (): Promise<readonly ClaimedJob[]> => claim(store, { types: ['work', 'other'], room: 3_500 });

      const claims = [await take(), await take(), await take()];

      expect(claims.map(idsOf)).toEqual([inOrder.slice(0, 3), inOrder.slice(3, 6), inOrder.slice(6)]);
    });

    it('keeps to the limits of types as well', async () => {
      const jobs = [sized(1_000), sized(1_000), sized(1_000, { type: 'other' }), sized(1_000, { type: 'other' })];
      await store.insert(jobs);

      const found = await claim(store, { types: ['work', 'other'], caps: { work: 1 }, room: 2_500 });

      expect(idsOf(found)).toEqual([jobs[0]?.id, jobs[2]?.id]);
    });
  });

  describe('a claim of types with limits and little room', () => {
    const request = { limit: 10, owner: 'ada', leaseMs: 600_000 };

    async function take(given: Partial<LimitedClaimRequest>): Promise<readonly ClaimedJob[]> {
      const types = [{ type: 'work', most: 10, graceMs: 0, globalConcurrency: 10 }];
      const { claimed } = await store.claimLimited({ ...request, types, ...given });
      return claimed;
    }

    it('takes the first jobs of a type, as long as they fit', async () => {
      const jobs = Array.from({ length: 5 }, () => sized(1_000));
      await store.insert(jobs);

      expect(idsOf(await take({ room: 2_500 }))).toEqual(idsOf(jobs.slice(0, 2)));
      expect(idsOf(await take({ room: 10 }))).toEqual(idsOf(jobs.slice(2, 3)));
      expect(idsOf(await take({}))).toEqual(idsOf(jobs.slice(3)));
    });

    it('has one room for all types together', async () => {
      const types = ['work', 'other'].map((type) => ({ type, most: 10, graceMs: 0, globalConcurrency: 10 }));
      await store.insert([...types, ...types].map(({ type }) => sized(1_000, { type })));

      expect(await take({ types, room: 3_500 })).toHaveLength(3);
      expect(await take({ types, room: 3_500 })).toHaveLength(1);
    });

    it('lets those of the keys go first the next time for which there was no room', async () => {
      const types = [{ type: 'work', most: 10, graceMs: 0, isKeyed: true }];
      const jobs = ['a', 'a', 'a', 'b', 'c'].map((key) => sized(1_000, { key }));
      await store.insert(jobs);
      const keys: (string | undefined)[] = [];

      for (let n = 0; n < 5; n++) {
        const found = await take({ types, room: 1_500 });
        keys.push(...found.map(({ key }) => key));
        for (const job of found) await settle(store, job);
      }

      expect(keys).toEqual(['a', 'b', 'c', 'a', 'a']);
    });

    it('leaves room for jobs with keys beside those without', async () => {
      const types = [{ type: 'work', most: 10, graceMs: 0, isKeyed: true }];
      await store.insert([undefined, undefined, 'a', 'b', undefined, undefined].map((key) => sized(1_000, { key })));

      const found = await take({ types, room: 4_500 });

      expect(found.map(({ key = '' }) => key).toSorted()).toEqual(['', '', 'a', 'b']);
    });

    it('finds the keys of large jobs too', async () => {
      const types = [{ type: 'work', most: 10, graceMs: 0, isKeyed: true }];
      await store.insert(['a', 'b', 'c'].map((key) => sized(1_000, { key })));

      expect(await take({ types, room: 2_500 })).toHaveLength(2);
      expect(await take({ types, room: 2_500 })).toHaveLength(1);
    });
  });
}
