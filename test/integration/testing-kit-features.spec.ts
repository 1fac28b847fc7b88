import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  JobHandler,
  JobQueue,
  JobsAdmin,
  JobSchedule,
  JobsModule,
  PersistentJobQueue,
  type JobContext,
} from 'nestjs-jobs';
import { jobMatchers, JobsTesting, JobsTestingModule, type JobsTestingOptions } from 'nestjs-jobs/testing';
import { DataSource } from 'typeorm';

expect.extend(jobMatchers);

const ignore = (): void => undefined;
const silent = { log: ignore, error: ignore, warn: ignore };
const hourMs = 3_600_000;
const now = new Date('2026-03-02T06:30:00Z');

@Injectable()
class Shop {
  readonly seen: string[] = [];

  @JobHandler('import', { maxRetries: 0 })
  import(page: number): void {
    if (page < 0) throw new Error('no such page');
    this.seen.push(`page ${page}`);
  }

  @JobHandler('report')
  report(_payload: unknown, { batch }: JobContext): void {
    this.seen.push(`${batch?.completed} of ${batch?.total}`);
  }

  @JobHandler('call', { rateLimit: { limit: 2, window: 60_000 } })
  call(what: string): void {
    this.seen.push(what);
  }

  @JobHandler('bill')
  async bill(what: string): Promise<void> {
    if (what === 'a1' && !this.seen.includes('a1 fails')) {
      this.seen.push('a1 fails');
      throw new Error('boom');
    }
    this.seen.push(what);
  }
}

@Injectable()
class Digests {
  readonly seen: string[] = [];

  @JobHandler('digest')
  @JobSchedule('0 * * * *', { payload: (slot) => slot.toISOString().slice(11, 16) })
  @JobSchedule('0 7 * * *', { name: 'queued', overlap: 'queue', payload: 'queued' })
  @JobSchedule('0 7 * * *', { name: 'punctual', misfire: 'skip', overlap: 'queue', payload: 'punctual' })
  @JobSchedule('15 7 * * *', { name: 'each', misfire: 'all', payload: 'each' })
  @JobSchedule('30 7 * * *', { name: 'in memory', on: 'memory', payload: 'in memory' })
  digest(what: string): void {
    this.seen.push(what);
  }
}

describe('the testing kit', () => {
  let app: TestingModule;
  let jobs: JobsTesting;
  let shop: Shop;
  let queue: PersistentJobQueue;
  let memory: JobQueue;
  let admin: JobsAdmin;

  async function start(options: JobsTestingOptions = {}, extra: Pick<DynamicModule, 'imports' | 'providers'> = {}) {
    @Module({
      imports: [JobsModule.forRoot(), ...(extra.imports ?? [])],
      providers: [Shop, ...(extra.providers ?? [])],
    })
    class AppModule {}

    const imports = [AppModule, JobsTestingModule.forRoot({ now, ...options })];
    app = await Test.createTestingModule({ imports }).setLogger(silent).compile();
    await app.init();
    jobs = app.get(JobsTesting);
    shop = app.get(Shop);
    queue = app.get(PersistentJobQueue);
    memory = app.get(JobQueue);
    admin = app.get(JobsAdmin);
  }

  const pages = (...numbers: readonly number[]) => numbers.map((payload) => ({ type: 'import', payload }) as const);

  afterEach(() => app.close());

  describe('with batches and chains', () => {
    const followUps = { onComplete: { type: 'report' }, onFailure: { type: 'report' } };

    beforeEach(() => start());

    it('runs what follows a batch, once', async () => {
      const { id, jobIds } = await queue.enqueueBatch(pages(1, 2), followUps);

      expect(jobs.enqueued('import').map((job) => [job.id, job.batchId])).toEqual(jobIds.map((job) => [job, id]));
      expect(jobs).not.toHaveEnqueued('report');
      expect(await jobs.drain()).toMatchObject([{ type: 'import' }, { type: 'import' }, { type: 'report' }]);
      expect(shop.seen).toEqual(['page 1', 'page 2', '2 of 2']);
      expect(await queue.batch(id)).toMatchObject({ state: 'completed', total: 2, completed: 2 });
      expect((await admin.list()).jobs).toEqual([]);
    });

    it('tells of members that failed or were taken back', async () => {
      const { id, jobIds } = await queue.enqueueBatch(pages(1, -1, 3), followUps);
      await queue.cancel(jobIds[2] ?? '');

      await jobs.drain();

      expect(shop.seen).toEqual(['page 1', '1 of 3']);
      expect(await queue.batch(id)).toMatchObject({ state: 'failed', completed: 1, failed: 2 });
    });

    it('goes through a chain step by step', async () => {
      await queue.enqueueChain([...pages(1), pages(2, 3)], followUps);

      expect(jobs).toHaveEnqueuedTimes('import', 1);
      await jobs.tick();
      await jobs.tick();
      expect(jobs).toHaveEnqueuedTimes('import', 3);
      await jobs.drain();
      expect(shop.seen).toEqual(['page 1', 'page 2', 'page 3', '3 of 3']);
    });

    it('does the same in memory, and says what was submitted', async () => {
      memory.submitChain([...pages(1), pages(2)], followUps);
      memory.submitBatch([], followUps);

      expect(jobs.enqueued().map(({ type, kind }) => `${type} ${kind}`)).toEqual(['import memory', 'report memory']);
      await jobs.drain();
      expect(jobs).toHaveEnqueuedTimes('import', 2);
      expect(shop.seen.toSorted()).toEqual(['0 of 0', '2 of 2', 'page 1', 'page 2']);
    });

    it('hands a batch to a handler that is run as a unit', async () => {
      await jobs.perform('report', undefined, { batch: { id: 'b', total: 3, completed: 2, failed: 1 } });

      expect(shop.seen).toEqual(['2 of 3']);
    });
  });

  it('in inline mode runs a batch to its end', async () => {
    await start({ mode: 'inline' });

    await queue.enqueueBatch(pages(1, 2), { onComplete: { type: 'report' } });

    expect(shop.seen).toEqual(['page 1', 'page 2', '2 of 2']);
  });

  it('stores a batch when the transaction commits that it is enqueued in, and never when that does not', async () => {
    const dataSource = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize();
    const database = { provide: DataSource, useValue: dataSource };
    const module = { module: class Database {}, global: true, providers: [database], exports: [DataSource] };
    await start({}, { imports: [module] });

    const { jobIds } = await dataSource.transaction(async (manager) => {
      const batch = await queue.enqueueBatch(pages(1, 2), { manager });
      expect(jobs).not.toHaveEnqueued('import');
      return batch;
    });
    const rolledBack = dataSource.transaction(async (manager) => {
      await queue.enqueueBatch(pages(3), { manager });
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');

    expect(jobs.enqueued('import').map(({ id }) => id)).toEqual(jobIds);
    await dataSource.destroy();
  });

  describe('with schedules', () => {
    let digests: Digests;

    beforeEach(async () => {
      await start({}, { providers: [Digests] });
      digests = app.get(Digests);
    });

    it('fires a slot once when its time has come', async () => {
      expect(await jobs.drain()).toEqual([]);
      jobs.clock.advance(hourMs / 2 - 1);
      expect(await jobs.drain()).toEqual([]);
      jobs.clock.advance(1);
      await jobs.drain();
      expect(digests.seen).toEqual(['07:00', 'punctual', 'queued']);
      await jobs.drain();
      jobs.clock.advance(hourMs - 1);
      await jobs.drain();

      expect(digests.seen).toEqual(['07:00', 'punctual', 'queued', 'each', 'in memory']);
      expect(jobs).toHaveEnqueued('digest', '07:00');
    });

    it('passes over slots while the job before waits, and counts them, unless they are to queue', async () => {
      jobs.clock.advance(2 * 24 * hourMs);
      await jobs.drain();

      const count = (what: string): number => digests.seen.filter((seen) => seen === what).length;
      expect([count('07:00'), count('08:00'), count('queued'), count('punctual'), count('each')]).toEqual([
        1, 0, 2, 2, 2,
      ]);
      expect(await queue.schedules.find('digest')).toMatchObject({ skipped: 47 });
    });

    it('leaves slots that nobody watched to misfire', async () => {
      jobs.clock.outage(2 * 24 * hourMs);
      await jobs.drain();

      expect(digests.seen.toSorted()).toEqual(['06:00', 'each', 'each', 'in memory', 'queued']);
      jobs.clock.advance(hourMs / 2);
      await jobs.drain();
      expect(digests.seen).toContain('punctual');
    });

    it('begins and ends with what is made at run time, and heeds a pause', async () => {
      await queue.schedules.set('mine', { type: 'import', cron: '*/10 * * * *', payload: 7 });
      await queue.schedules.runNow('mine');
      await jobs.drain();
      jobs.clock.advance(600_000);
      await jobs.drain();
      await queue.schedules.pause('mine');
      jobs.clock.advance(600_000);
      await jobs.drain();
      await queue.schedules.resume('mine');
      jobs.clock.advance(600_000);
      await jobs.drain();

      expect(shop.seen).toEqual(['page 7', 'page 7', 'page 7']);
    });

    it('lets time pass for jobs that wait, and not for schedules alone', async () => {
      await queue.enqueue('import', 1, { delay: hourMs });

      await jobs.drain({ advance: true });

      expect(jobs.clock.now()).toBe(now.getTime() + hourMs);
      expect(shop.seen).toEqual(['page 1']);
      expect(digests.seen).toContain('07:00');
    });
  });

  describe('with limits and keys', () => {
    beforeEach(() => start());

    it.each(['persistent', 'memory'] as const)('holds jobs back by a rate limit, exactly: %s', async (kind) => {
      for (const what of ['a', 'b', 'c', 'd', 'e']) {
        if (kind === 'memory') memory.submit('call', what);
        else await queue.enqueue('call', what);
      }

      await jobs.drain();
      expect(shop.seen).toEqual(['a', 'b']);
      jobs.clock.advance(59_999);
      expect(await jobs.drain()).toEqual([]);
      jobs.clock.advance(1);
      await jobs.drain();
      expect(shop.seen).toEqual(['a', 'b', 'c', 'd']);
      await jobs.drain({ advance: true });
      expect(shop.seen).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(jobs.clock.now()).toBe(now.getTime() + 120_000);
    });

    it('runs the keys in turns, and jobs without one in between', async () => {
      const keyed = ['c1', 'c2', 'c3', 'd1', 'd2', 'e1'].map((payload) => ({ payload, key: payload.charAt(0) }));
      await queue.enqueueMany([...keyed, { payload: 'plain' }].map((job) => ({ type: 'bill', ...job })));

      await jobs.drain();

      expect(shop.seen.filter((what) => what !== 'plain')).toEqual(['c1', 'd1', 'e1', 'c2', 'd2', 'c3']);
      expect(shop.seen).toContain('plain');
    });

    it('runs the jobs of a key in their order, a retry before the next one', async () => {
      for (const what of ['a1', 'a2', 'a3', 'b1', 'b2']) await queue.enqueue('bill', what, { key: what.charAt(0) });

      const first = await jobs.drain();
      expect(first.map(({ outcome }) => outcome)).toEqual(['retried', 'completed', 'completed']);
      expect(shop.seen).toEqual(['a1 fails', 'b1', 'b2']);
      await jobs.drain({ advance: true });
      expect(shop.seen).toEqual(['a1 fails', 'b1', 'b2', 'a1', 'a2', 'a3']);
      expect(jobs.enqueued('bill').map(({ key }) => key)).toEqual(['a', 'a', 'a', 'b', 'b']);
    });
  });

  it('counts what becomes of jobs, with the time that they have waited', async () => {
    await start();
    await queue.enqueue('import', 1);
    await queue.enqueue('import', -1);
    jobs.clock.advance(10_000);
    await jobs.tick();
    await jobs.tick();

    const { types, until } = await admin.statistics();

    expect(until).toEqual(new Date(now.getTime() + 10_000));
    expect(types).toMatchObject([{ type: 'import', completed: 1, failed: 1, retried: 0, minutes: [{ at: now }] }]);
    expect(types[0]?.wait.p50).toBeGreaterThan(8_000);
    jobs.clock.advance(2 * hourMs);
    expect((await admin.statistics()).types).toEqual([]);
  });
});
