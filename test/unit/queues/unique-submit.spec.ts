import type { JobContext } from '../../../lib/model/job-context.js';
import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { until } from '../../support/until.js';

describe('JobQueue', () => {
  let sink: RecordingSink;
  let queue: JobQueue;
  let ran: unknown[];

  /** A queue whose workers have not started: what is submitted waits. */
  beforeEach(() => {
    sink = new RecordingSink();
    queue = new JobQueue({ maxQueued: 5 }, { sink, autoStart: false });
    ran = [];
    queue.register('work', (payload) => ran.push(payload));
  });

  afterEach(() => queue.join());

  it('runs one of several jobs with the same key', async () => {
    const first = queue.trySubmit('work', 1, { uniqueKey: 'ada' });
    const second = queue.trySubmit('work', 2, { uniqueKey: 'ada' });
    const other = queue.trySubmit('work', 3, { uniqueKey: 'bob' });
    await queue.join();

    expect(first).toMatchObject({ deduplicated: false, outcome: 'stored' });
    expect(second).toEqual({ id: first.id, deduplicated: true, outcome: 'waiting' });
    expect(other).toMatchObject({ outcome: 'stored' });
    expect(ran).toEqual([1, 3]);
  });

  it('runs one of several functions with the same key', async () => {
    const id = queue.submit(() => ran.push('a'), { uniqueKey: 'ada' });

    expect(queue.submit(() => ran.push('b'), { uniqueKey: 'ada' })).toBe(id);
    expect(queue.trySubmit({ run: () => ran.push('c') }, { uniqueKey: 'ada', onDuplicate: 'replace' })).toMatchObject({
      id,
      outcome: 'replaced',
    });
    await queue.join();
    expect(ran).toEqual(['c']);
  });

  it('takes the key again when the job is over', async () => {
    queue.start();
    queue.submit('work', 1, { uniqueKey: 'ada' });
    await until(() => ran.length === 1);
    await until(() => queue.trySubmit('work', 2, { uniqueKey: 'ada' }).outcome === 'stored');

    await queue.join();

    expect(ran).toEqual([1, 2]);
  });

  it('holds the key while the job runs', async () => {
    const outcomes: string[] = [];
    queue.register('again', () => {
      outcomes.push(queue.trySubmit('again', null, { uniqueKey: 'ada', onDuplicate: 'replace' }).outcome);
    });
    queue.start();
    queue.submit('again', null, { uniqueKey: 'ada' });
    await until(() => outcomes.length > 0);

    expect(outcomes).toEqual(['running']);
  });

  it('keeps a job that is put off over and over as one, however often', async () => {
    for (let round = 0; round < 100; round += 1) {
      queue.submit('work', round, { uniqueKey: 'ada', delay: 1 + (round % 3), onDuplicate: 'replace' });
    }

    await queue.join();

    expect(ran).toEqual([99]);
  });

  it('forgets the keys of jobs that a stop has dropped', async () => {
    queue = new JobQueue({ shutdownTimeout: 0 }, { sink });
    queue.register('work', (payload) => ran.push(payload));
    queue.submit('work', 1, { uniqueKey: 'ada', delay: 3_600_000 });
    await queue.stop();
    queue.start();

    expect(queue.trySubmit('work', 2, { uniqueKey: 'ada' })).toMatchObject({ outcome: 'stored' });
  });

  it('uses the key of the handler', () => {
    queue.handlers.add({
      type: 'sync',
      source: 'Crm.sync',
      policy: { uniqueKey: String },
      run: () => undefined,
    });

    const outcomes = [1, 2, 1].map((payload) => queue.trySubmit('sync', payload).outcome);

    expect(outcomes).toEqual(['stored', 'stored', 'waiting']);
  });

  it('does not run a job whose time is over', async () => {
    queue.submit('work', 'late', { expiresAt: new Date(Date.now() - 1_000) });
    queue.submit('work', 'in time', { expiresIn: 600_000 });

    await queue.join();

    expect(ran).toEqual(['in time']);
    expect(sink.lines).toEqual(["warn: 'work' expired before it could start; it is not run"]);
  });

  it('shows the handler the tags', async () => {
    queue.submit(({ tags }: JobContext) => ran.push(tags), { tags: ['a'] });
    queue.submit(({ tags }: JobContext) => ran.push(tags));

    await queue.join();

    expect(ran).toEqual([['a'], []]);
  });

  it('has no throttles', () => {
    expect(() => queue.submit('work', 1, { throttle: { window: 1 } } as object)).toThrow(/have no option 'throttle'/);
  });
});
