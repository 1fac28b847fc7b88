import { StoreError } from '../../../lib/model/errors.js';
import type { NewJob } from '../../../lib/model/job.js';
import { InsertBatcher } from '../../../lib/queues/insert-batcher.js';
import { aJob, someJobs } from '../../support/a-job.js';
import { until } from '../../support/until.js';

/** A statement that waits for its answer. */
interface Statement {
  readonly jobs: readonly NewJob[];
  answer(): void;
  fail(error: unknown): void;
}

/** A store that answers when it is told to. */
class SlowStore {
  readonly statements: Statement[] = [];

  insert(jobs: readonly NewJob[]): Promise<void> {
    return new Promise((answer, fail) => this.statements.push({ jobs, answer, fail }));
  }

  get sizes(): readonly number[] {
    return this.statements.map(({ jobs }) => jobs.length);
  }
}

/** What has become of promises so far, in their order. */
function watch(promises: readonly Promise<unknown>[]): string[] {
  const ends = promises.map(() => 'waits');
  promises.forEach((promise, index) => {
    promise.then(
      () => (ends[index] = 'stored'),
      (error: unknown) => (ends[index] = error instanceof Error ? error.message : String(error)),
    );
  });
  return ends;
}

/** Lets what is resolved have its say. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('InsertBatcher', () => {
  let store: SlowStore;

  beforeEach(() => {
    store = new SlowStore();
  });

  it('sends a lone insert in the same turn', async () => {
    const insert = new InsertBatcher(store).insert(aJob());

    expect(store.sizes).toEqual([1]);
    store.statements[0]?.answer();
    await insert;
  });

  it('makes two statements of 32 inserts in flight, and each promise waits for its own', async () => {
    const batcher = new InsertBatcher(store);
    const ends = watch(someJobs(32).map((job) => batcher.insert(job)));
    expect(store.sizes).toEqual([1]);

    store.statements[0]?.answer();
    await turn();
    expect(store.sizes).toEqual([1, 31]);
    expect(ends).toEqual(['stored', ...Array.from({ length: 31 }, () => 'waits')]);

    store.statements[1]?.answer();
    await turn();
    expect(new Set(ends)).toEqual(new Set(['stored']));
    expect(store.sizes).toEqual([1, 31]);
  });

  it('rejects by a failure only those whose statement failed', async () => {
    const batcher = new InsertBatcher(store);
    const ends = watch(someJobs(3).map((job) => batcher.insert(job)));
    store.statements[0]?.answer();
    await turn();
    const last = watch([batcher.insert(aJob())]);

    store.statements[1]?.fail(new StoreError('connection lost'));
    await turn();
    store.statements[2]?.answer();
    await turn();

    expect([...ends, ...last]).toEqual(['stored', 'connection lost', 'connection lost', 'stored']);
    expect(store.sizes).toEqual([1, 2, 1]);
  });

  it('has only the job refused that the database refuses, and stores its neighbours', async () => {
    const stored: NewJob[] = [];
    const insert = async (jobs: readonly NewJob[]): Promise<void> => {
      await turn();
      if (jobs.some(({ payload }) => payload === '"bad"')) throw new StoreError('refused').refusing('value');
      stored.push(...jobs);
    };
    const batcher = new InsertBatcher({ insert });
    const jobs = Array.from({ length: 100 }, (_unused, n) => aJob({ payload: n === 70 ? '"bad"' : 'null' }));
    const ends = watch(jobs.map((job) => batcher.insert(job)));

    await until(() => !ends.includes('waits'));

    expect(ends.map((end, n) => [n, end] as const).filter(([, end]) => end !== 'stored')).toEqual([[70, 'refused']]);
    expect(stored).toHaveLength(99);
    expect(new Set(stored.map(({ id }) => id)).size).toBe(99);
  });

  it('takes an outage for nobody’s fault: what failed is not sent again', async () => {
    const batcher = new InsertBatcher(store);
    const ends = watch(someJobs(3).map((job) => batcher.insert(job)));
    store.statements[0]?.fail(new StoreError('connection lost'));
    await turn();
    store.statements[1]?.fail(new StoreError('connection lost'));
    await turn();

    expect(ends).toEqual(Array.from({ length: 3 }, () => 'connection lost'));
    expect(store.sizes).toEqual([1, 2]);
  });

  describe('while the database does not answer', () => {
    it('lets those who wait behind a silent statement go long before its time is over', async () => {
      const batcher = new InsertBatcher(store, 3_000);
      const ends = watch(someJobs(3).map((job) => batcher.insert(job)));

      await until(() => store.statements.length === 2);
      expect(ends).toEqual(['waits', 'waits', 'waits']);
      store.statements[1]?.answer();
      await turn();

      expect(ends).toEqual(['waits', 'stored', 'stored']);
      await until(() => ends[0] !== 'waits');
    });

    it('each caller waits as long as any other, however many statements it is behind', async () => {
      const batcher = new InsertBatcher(store, 200);
      const payload = JSON.stringify('x'.repeat(900_000));
      // So large that each travels alone; ten of them, one after the other, would take ten times as long.
      const jobs = Array.from({ length: 10 }, () => aJob({ payload }));
      const ends = watch(jobs.map((job) => batcher.insert(job)));

      await until(() => !ends.includes('waits'));

      const sent = new Set(store.statements.flatMap((statement) => statement.jobs.map(({ id }) => id)));
      expect(sent.size).toBeLessThan(10);
      const toldOf = ({ id }: NewJob): RegExp =>
        sent.has(id) ? /did not answer within 200 ms, so it is unknown/ : /not stored: enqueue it again/;
      expect(ends).toEqual(jobs.map((job) => expect.stringMatching(toldOf(job))));
    });

    it('never sends a job that its caller was told is not stored', async () => {
      const batcher = new InsertBatcher(store, 60);
      const payload = JSON.stringify('x'.repeat(900_000));
      const jobs = Array.from({ length: 10 }, () => aJob({ payload }));
      const ends = watch(jobs.map((job) => batcher.insert(job)));
      await until(() => !ends.includes('waits'));

      for (const { answer } of store.statements) answer();
      await until(() => store.statements.length > 0);
      const later = batcher.insert(aJob());
      await until(() => store.statements.at(-1)?.jobs[0]?.payload === 'null');
      store.statements.at(-1)?.answer();
      await later;

      const sent = new Set(store.statements.flatMap((statement) => statement.jobs.map(({ id }) => id)));
      const toldNot = jobs.filter((_job, n) => ends[n]?.includes('not stored') === true);
      expect(toldNot.length).toBeGreaterThan(0);
      expect(toldNot.filter(({ id }) => sent.has(id))).toEqual([]);
    });

    it('a refusal that comes late is still that of one job', async () => {
      const batcher = new InsertBatcher(store, 6_000);
      const ends = watch(someJobs(3).map((job) => batcher.insert(job)));
      store.statements[0]?.answer();
      await until(() => store.statements.length === 2);
      const behind = batcher.insert(aJob());
      // The second one holds up nobody any more.
      await until(() => store.statements.length === 3);
      store.statements[2]?.answer();
      await behind;

      store.statements[1]?.fail(new StoreError('refused').refusing('value'));
      await until(() => store.statements.length === 4);
      store.statements[3]?.fail(new StoreError('refused').refusing('value'));
      await until(() => store.statements.length === 5);
      store.statements[4]?.answer();
      await turn();

      expect(ends).toEqual(['stored', 'refused', 'stored']);
    });
  });
});
