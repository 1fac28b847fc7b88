import type { JobContext } from '../../lib/model/job-context.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

forEachDatabase((database) => {
  let rig: QueueRig;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    queue = await rig.queue();
  });

  afterEach(async () => {
    await rig.close();
    await database.clear();
  });

  async function textsOf(id: string): Promise<readonly string[]> {
    return ((await queue.find(id))?.log?.lines ?? []).map(({ attempt, text }) => `${attempt}: ${text}`);
  }

  it('can be read while the job runs, the latest of many', async () => {
    let end = (): void => undefined;
    const told: number[] = [];
    queue.observe('progress').subscribe(({ fraction }) => told.push(fraction));
    queue.register('work', async (_payload, job) => {
      for (let n = 0; n <= 500; n += 1) job.progress(n / 1_000, `row ${n}`);
      job.log('half of it, ünïcode 😀');
      await new Promise<void>((resolve) => (end = resolve));
    });
    const id = await queue.enqueue('work');
    await queue.start();

    await until(async () => (await queue.find(id))?.progress?.fraction === 0.5);

    expect(await queue.find(id)).toMatchObject({
      state: 'running',
      progress: { fraction: 0.5, note: 'row 500', attempt: 1, at: expect.any(Number) },
    });
    expect((await queue.admin.list()).jobs[0]?.progress?.fraction).toBe(0.5);
    expect(await textsOf(id)).toEqual(['1: half of it, ünïcode 😀']);
    expect(told).toEqual([0.5]);
    end();
  });

  it('goes with the outcome of the attempt, and the log on over all attempts', async () => {
    const told: string[] = [];
    queue.observe('progress').subscribe(({ job, fraction }) => told.push(`${job.attempt}: ${fraction}`));
    queue.register('work', (_payload, job) => {
      job.log(`attempt ${job.attempt}`);
      job.progress(job.attempt / 10);
      throw new Error('boom');
    });
    const id = await queue.enqueue('work', undefined, { maxRetries: 1 });

    await queue.tick();
    expect((await queue.find(id))?.progress).toMatchObject({ fraction: 0.1, attempt: 1 });
    await until(() => queue.tick());

    expect(await textsOf(id)).toEqual(['1: attempt 1', '2: attempt 2']);
    expect(told).toEqual(['1: 0.1', '2: 0.2']);
  });

  it('stays with a row that is kept', async () => {
    queue.register(
      'work',
      (_payload, job) => {
        job.progress(1, 'done');
        job.log('a');
      },
      { retention: { completed: 60_000 } },
    );
    const id = await queue.enqueue('work');

    await queue.tick();

    expect(await queue.find(id)).toMatchObject({ state: 'completed', progress: { fraction: 1, note: 'done' } });
    expect(await textsOf(id)).toEqual(['1: a']);
  });

  it('keeps the last lines of a log, over attempts too, and says that others are gone', async () => {
    queue.register('work', (_payload, job) => {
      for (let n = 0; n < 300; n += 1) job.log(`${job.attempt}/${n} ${'x'.repeat(60)}`);
      throw new Error('boom');
    });
    const id = await queue.enqueue('work', undefined, { maxRetries: 1 });
    await queue.tick();
    await until(() => queue.tick());

    const log = (await queue.find(id))?.log;

    expect(log?.isCut).toBe(true);
    expect(log?.lines.at(-1)?.text).toContain('2/299 ');
    expect(log?.lines.length).toBeLessThan(300);
  });

  it('is not written by a worker that has lost its claim', async () => {
    let seen: JobContext | undefined;
    let end = (): void => undefined;
    queue.register('work', async (_payload, job) => {
      seen = job;
      await new Promise<void>((resolve) => (end = resolve));
      job.progress(0.9);
      job.log('too late');
    });
    const id = await queue.enqueue('work');
    const ticking = queue.tick();
    await until(() => seen !== undefined);
    await rig.set(database.name === 'postgres' ? 'claim_token = 1' : "claim_token = 'other'");
    end();
    await ticking;

    const row = await queue.find(id);
    expect(row?.progress).toBeUndefined();
    expect(row?.log).toBeUndefined();
  });

  it('fails the attempt where the fraction is none', async () => {
    queue.register('work', (_payload, job) => job.progress(50));
    await queue.enqueue('work');

    await queue.tick();

    expect((await rig.row()).last_error).toContain('the fraction of job.progress must be a number from 0 to 1, got 50');
  });
});
