import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Discard,
  InjectPersistentJobQueue,
  JobHandler,
  JobQueue,
  JobsAdmin,
  JobsModule,
  PersistentJobQueue,
  Snooze,
  type JobContext,
} from 'nestjs-jobs';
import { jobMatchers, JobsTesting, JobsTestingModule, type JobsTestingOptions } from 'nestjs-jobs/testing';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';

expect.extend(jobMatchers);

const ignore = (): void => undefined;
const silent = { log: ignore, error: ignore, warn: ignore };

@Injectable()
class Mailer {
  readonly sent: string[] = [];

  constructor(
    private readonly jobs: PersistentJobQueue,
    private readonly memory: JobQueue,
    @InjectPersistentJobQueue('reports') private readonly reports: PersistentJobQueue,
  ) {}

  @JobHandler('welcome', { maxRetries: 2, schema: z.object({ to: z.string() }) })
  async welcome({ to }: { to: string }, job: JobContext): Promise<string> {
    if (to === 'nobody') throw new Error('no such address');
    job.progress(1, 'sent');
    job.log(`to ${to}`);
    this.sent.push(to);
    if (to === 'ada') await this.jobs.enqueue('remind', { to }, { delay: 60_000 });
    return `sent to ${to}`;
  }

  @JobHandler('remind')
  remind({ to }: { to: string }): void {
    this.sent.push(`reminder: ${to}`);
  }

  @JobHandler('book', { transactional: true })
  async book(what: string, job: JobContext<EntityManager>): Promise<void> {
    await job.manager.query('INSERT INTO booked (what) VALUES (?)', [what]);
    await this.jobs.enqueue('remind', { to: what });
    if (what === 'bad') throw new Error('boom');
  }

  @JobHandler('steer')
  steer(how: string): unknown {
    if (how === 'snooze') return new Snooze(5_000);
    throw new Discard('never');
  }

  @JobHandler('warm')
  warm(what: string): void {
    this.sent.push(`warm ${what}`);
  }

  async signUp(to: string): Promise<void> {
    await this.jobs.enqueue('welcome', { to }, { uniqueKey: to, tags: ['mail'] });
    this.memory.submit('warm', to);
    await this.reports.enqueue('signups');
  }
}

@Module({
  imports: [JobsModule.forRoot(), JobsModule.forRoot({ name: 'reports', persistent: { tableName: 'report_jobs' } })],
  providers: [Mailer],
})
class AppModule {}

describe('the testing kit', () => {
  let app: TestingModule;
  let jobs: JobsTesting;
  let mailer: Mailer;
  let queue: PersistentJobQueue;

  async function start(options?: JobsTestingOptions, extra: readonly DynamicModule[] = []): Promise<void> {
    const imports = [...extra, AppModule, JobsTestingModule.forRoot(options)];
    app = await Test.createTestingModule({ imports }).setLogger(silent).compile();
    await app.init();
    jobs = app.get(JobsTesting);
    mailer = app.get(Mailer);
    queue = app.get(PersistentJobQueue);
  }

  afterEach(() => app.close());

  describe('in manual mode', () => {
    beforeEach(() => start());

    it('runs nothing by itself, and says what was enqueued', async () => {
      await mailer.signUp('ada');

      expect(mailer.sent).toEqual([]);
      expect(jobs).toHaveEnqueued('welcome');
      expect(jobs).toHaveEnqueued('welcome', { to: 'ada' });
      expect(jobs).toHaveEnqueued('welcome', { to: expect.stringMatching(/^a/) });
      expect(jobs).not.toHaveEnqueued('welcome', { to: 'bob' });
      expect(jobs).toHaveEnqueuedTimes('welcome', 1);
      expect(jobs.enqueued('welcome')).toMatchObject([
        { payload: { to: 'ada' }, kind: 'persistent', tags: ['mail'], uniqueKey: 'ada', queue: 'default' },
      ]);
      expect(jobs.enqueued().map(({ type, kind }) => `${type} ${kind}`)).toEqual(['welcome persistent', 'warm memory']);
      expect(jobs.named('reports')).toHaveEnqueued('signups');
      expect(() => expect(jobs).toHaveEnqueued('welcome', { to: 'bob' })).toThrow(
        'expected a job of type \'welcome\' with {"to":"bob"}, enqueued were 1: {"to":"ada"}',
      );
      expect(() => expect(jobs).toHaveEnqueued('other')).toThrow("was none of it, but 'welcome', 'warm'");
    });

    it('runs one job at a time, or all, and reports what came of them', async () => {
      await mailer.signUp('ada');

      expect(await jobs.tick()).toMatchObject({ type: 'welcome', outcome: 'completed', attempt: 1 });
      expect(await jobs.drain()).toMatchObject([{ type: 'warm', queue: 'memory', outcome: 'completed' }]);
      expect(await jobs.tick()).toBeUndefined();
      expect(mailer.sent).toEqual(['ada', 'warm ada']);
    });

    it('a clock makes delays and retries due', async () => {
      await queue.enqueue('welcome', { to: 'ada' });
      await queue.enqueue('welcome', { to: 'nobody' });

      expect(await jobs.drain()).toMatchObject([
        { outcome: 'completed' },
        { outcome: 'retried', error: 'no such address', attempt: 1, delay: 500 },
      ]);
      expect(await jobs.drain()).toEqual([]);
      jobs.clock.advance(500);
      expect(await jobs.drain()).toMatchObject([{ outcome: 'retried', attempt: 2 }]);
      expect(await jobs.drain({ advance: true })).toMatchObject([
        { type: 'welcome', outcome: 'failed', attempt: 3 },
        { type: 'remind', outcome: 'completed' },
      ]);
    });

    it('a clock makes jobs expire, and tells the admin how long they have waited', async () => {
      const id = await queue.enqueue('remind', { to: 'ada' }, { expiresIn: 1_000 });
      jobs.clock.advance(2_000);

      expect(await app.get(JobsAdmin).oldestDue()).toMatchObject([{ id, waitingMs: 2_000 }]);
      expect(await jobs.drain()).toMatchObject([{ outcome: 'expired' }]);
      expect((await queue.find(id))?.state).toBe('failed');
    });

    it('lets the next attempts fail', async () => {
      jobs.failNext('remind', new Error('the database is away'));
      jobs.failNext('remind');
      await queue.enqueue('remind', { to: 'ada' });

      expect(await jobs.drain({ advance: true })).toMatchObject([
        { outcome: 'retried', error: 'the database is away' },
        { outcome: 'retried', error: "failNext('remind')" },
        { outcome: 'completed', attempt: 3 },
      ]);
    });

    it('a job that enqueues itself does not go on for ever', async () => {
      queue.register('again', () => queue.enqueue('again'));
      await queue.enqueue('again');

      await expect(jobs.drain({ limit: 10 })).rejects.toThrow('drain ran 10 jobs and there are more');
    });

    it('the admin works, and unique keys do', async () => {
      const id = await queue.enqueue('remind', { to: 'ada' }, { uniqueKey: 'k' });
      expect(await queue.tryEnqueue('remind', { to: 'bob' }, { uniqueKey: 'k' })).toMatchObject({
        id,
        outcome: 'waiting',
      });
      expect(await queue.cancel(id)).toEqual({ result: 'done', from: 'pending' });
      await app.get(JobsAdmin).pause({ type: 'remind' });
      await queue.enqueue('remind', { to: 'bob' });

      expect(await jobs.drain()).toEqual([]);
      expect((await app.get(JobsAdmin).counts()).total).toMatchObject({
        cancelled: { count: 1 },
        pending: { count: 1 },
      });
    });

    it('runs a handler as a unit', async () => {
      expect(await jobs.perform('welcome', { to: 'bob' }, { attempt: 2 })).toEqual({
        outcome: 'completed',
        value: 'sent to bob',
        progress: { fraction: 1, note: 'sent', attempt: 2, at: expect.any(Number) },
        log: ['to bob'],
      });
      const failed = await jobs.perform('welcome', { to: 'nobody' });
      expect(failed).toMatchObject({ outcome: 'retried', delay: 500, error: new Error('no such address') });
      expect((await jobs.perform('welcome', { to: 'nobody' }, { attempt: 3 })).outcome).toBe('failed');
      expect(await jobs.perform('welcome', { to: 7 })).toMatchObject({
        outcome: 'failed',
        error: { message: "payload.to does not fit the schema of job type 'welcome'" },
      });
      expect(await jobs.perform('steer', 'snooze')).toMatchObject({ outcome: 'snoozed', delay: 5_000 });
      expect(await jobs.perform('steer', 'discard')).toMatchObject({ outcome: 'failed', error: { message: 'never' } });
      await expect(jobs.perform('nobody', 1)).rejects.toThrow("no handler is registered for job type 'nobody'");
      expect(jobs.enqueued()).toEqual([]);
    });

    it('hands a double of its manager to a transactional handler that is run as a unit', async () => {
      const queries: unknown[] = [];
      const manager = { query: (...args: unknown[]) => void queries.push(args) };

      expect((await jobs.perform('book', 'a', { manager })).outcome).toBe('completed');
      expect(queries).toEqual([['INSERT INTO booked (what) VALUES (?)', ['a']]]);
    });
  });

  it('in inline mode jobs run as soon as they are enqueued, with those that they enqueue', async () => {
    await start({ mode: 'inline' });

    await mailer.signUp('bob');
    await jobs.drain();
    expect(mailer.sent).toEqual(['bob', 'warm bob']);
    expect(jobs.ran).toMatchObject([{ type: 'welcome', outcome: 'completed' }, { type: 'warm' }]);
    await queue.enqueue('welcome', { to: 'eve' });
    expect(mailer.sent.at(-1)).toBe('eve');
  });

  it('begins at the moment that it is told', async () => {
    await start({ now: new Date('2026-01-01T00:00:00Z') });
    const id = await queue.enqueue('remind', { to: 'ada' });

    expect((await queue.find(id))?.createdAt).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  describe('with a DataSource of the app', () => {
    let dataSource: DataSource;

    beforeEach(async () => {
      dataSource = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize();
      await dataSource.query('CREATE TABLE booked (what TEXT)');
    });

    afterEach(() => dataSource.destroy());

    const database = (): DynamicModule => ({
      module: class Database {},
      global: true,
      providers: [{ provide: DataSource, useValue: dataSource }],
      exports: [DataSource],
    });
    const booked = async (): Promise<unknown> => dataSource.query('SELECT what FROM booked');

    it('makes no table, and a job lives and dies with the transaction that it is enqueued in', async () => {
      await start({}, [database()]);

      await dataSource.transaction(async (manager) => {
        await queue.enqueue('remind', { to: 'ada' }, { manager });
        expect(jobs).not.toHaveEnqueued('remind');
      });
      const rolledBack = dataSource.transaction(async (manager) => {
        await queue.enqueue('remind', { to: 'bob' }, { manager, uniqueKey: 'k' });
        throw new Error('rolled back');
      });
      await expect(rolledBack).rejects.toThrow('rolled back');

      expect(jobs.enqueued('remind').map(({ payload }) => payload)).toEqual([{ to: 'ada' }]);
      expect(await dataSource.query("SELECT name FROM sqlite_master WHERE name LIKE '%jobs%'")).toEqual([]);
    });

    it('runs transactional handlers in a transaction of it', async () => {
      await start({}, [database()]);
      await queue.enqueue('book', 'good');
      await queue.enqueue('book', 'bad', { maxRetries: 0 });

      expect(await jobs.drain()).toMatchObject([
        { type: 'book', outcome: 'completed' },
        { type: 'book', outcome: 'failed' },
        { type: 'remind', outcome: 'completed' },
      ]);
      expect(await booked()).toEqual([{ what: 'good' }]);
      expect(jobs).toHaveEnqueuedTimes('remind', 1);
    });

    it('in inline mode runs what was enqueued in a transaction at its commit', async () => {
      await start({ mode: 'inline' }, [database()]);

      await dataSource.transaction(async (manager) => {
        await queue.enqueue('remind', { to: 'ada' }, { manager });
        expect(mailer.sent).toEqual([]);
      });

      expect(mailer.sent).toEqual(['reminder: ada']);
    });
  });

  it('refuses options that make no sense, and says when there is no JobsModule', async () => {
    await start();
    expect(() => JobsTestingModule.forRoot({ mode: 'later' as 'inline' })).toThrow("mode must be 'manual' or 'inline'");
    await expect(jobs.named('nobody').tick()).rejects.toThrow('found no JobsModule of this name');
  });
});
