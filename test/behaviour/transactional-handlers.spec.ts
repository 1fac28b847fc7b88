import { Discard, InvalidManagerError, JobAbortedError, RetryAfter, Snooze } from 'nestjs-jobs';
import type { DataSource, EntityManager } from 'typeorm';
import type { Handler } from '../../lib/handlers/handler-registry.js';
import type { HandlerPolicy } from '../../lib/model/handler-policy.js';
import type { JobContext } from '../../lib/model/job-context.js';
import { defaultBackoff } from '../../lib/model/retry-policy.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

forEachDatabase((database) => {
  let dataSource: DataSource;
  let rig: QueueRig;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    dataSource = await database.connect();
    await dataSource.query('CREATE TABLE effects (what VARCHAR(100) NOT NULL)');
    rig = new QueueRig(dataSource);
    queue = await rig.queue();
  });

  afterEach(async () => {
    await rig.close();
    await database.clear();
  });

  const isPostgres = database.name === 'postgres';

  async function write(manager: EntityManager, what: string): Promise<void> {
    await manager.query(`INSERT INTO effects (what) VALUES (${isPostgres ? '$1' : '?'})`, [what]);
  }

  async function effects(): Promise<readonly string[]> {
    const rows: { what: string }[] = await dataSource.query('SELECT what FROM effects ORDER BY what');
    return rows.map(({ what }) => what);
  }

  /** Registers a transactional handler. */
  function handle(run: (job: JobContext<EntityManager>) => unknown, policy: HandlerPolicy = {}, to = queue): void {
    const handler: Handler = {
      type: 'work',
      source: 'Test.work',
      policy: { transactional: true, ...policy },
      run: (_payload, job) => run(job),
    };
    to.handlers.add(handler);
  }

  /** A gate that a handler waits at. */
  function gate(): { readonly pass: Promise<void>; open(): void } {
    let open = (): void => undefined;
    const pass = new Promise<void>((resolve) => (open = resolve));
    return { pass, open: () => open() };
  }

  /** Takes the job away, as a worker would that has found its lease over. */
  async function steal(): Promise<void> {
    await rig.set(isPostgres ? 'claim_token = 1' : "claim_token = 'other'");
  }

  it('commits what the handler did and its job together', async () => {
    const told: string[] = [];
    queue.observe('completed').subscribe(({ job }) => told.push(job.id));
    let duringTheRun: readonly string[] = [];
    handle(async ({ manager }) => {
      await write(manager, 'a');
      if (!database.isSqlite) duringTheRun = await effects();
    });
    const id = await queue.enqueue('work');

    expect(await queue.tick()).toBe(true);

    expect(duringTheRun).toEqual([]);
    expect(await effects()).toEqual(['a']);
    expect(await rig.rows()).toEqual([]);
    expect(told).toEqual([id]);
  });

  it('keeps the row with result, history and progress where it is to be kept', async () => {
    handle(
      async (job) => {
        await write(job.manager, 'a');
        job.progress(1, 'all');
        job.log('ünïcode');
        return { stored: 'ü😀' };
      },
      { retention: { completed: 60_000 } },
    );
    const id = await queue.enqueue('work');

    await queue.tick();

    const job = await queue.find(id, { payload: true });
    expect(job).toMatchObject({ state: 'completed', result: { stored: 'ü😀' }, progress: { fraction: 1 } });
    expect(job?.history).toMatchObject([{ attempt: 1, outcome: 'completed' }]);
    expect(job?.log?.lines[0]?.text).toBe('ünïcode');
    expect(await effects()).toEqual(['a']);
  });

  it.each([
    ['an error', () => new Error('boom'), { status: 'pending', attempts: 1, last_error: 'boom' }],
    ['RetryAfter', () => new RetryAfter(60_000, 'later'), { status: 'pending', attempts: 1, last_error: 'later' }],
    ['Discard', () => new Discard('gone'), { status: 'failed', attempts: 1, last_error: 'gone' }],
    ['Snooze', () => new Snooze(60_000), { status: 'pending', attempts: 0 }],
  ])('rolls back for %s, thrown or returned, and the job goes its way', async (_what, make, row) => {
    for (const isThrown of [true, false]) {
      const own = await rig.queue();
      handle(
        async ({ manager }) => {
          await write(manager, 'a');
          const end = make();
          if (isThrown || end.name === 'Error') throw end;
          return end;
        },
        {},
        own,
      );
      const id = await own.enqueue('work');

      await own.tick();

      expect(await effects()).toEqual([]);
      expect(await rig.row(`id = '${id}'`)).toMatchObject(row);
      await own.admin.cancel(id);
    }
  });

  it('rolls back where its claim was lost, and leaves the job to its new owner', async () => {
    const told: string[] = [];
    for (const kind of ['lost', 'completed', 'retried'] as const) queue.observe(kind).subscribe(() => told.push(kind));
    const here = gate();
    let isInside = false;
    handle(async ({ manager }) => {
      if (!database.isSqlite) await write(manager, 'a');
      isInside = true;
      await here.pass;
      await write(manager, 'b');
    });
    await queue.enqueue('work');
    const ticking = queue.tick();
    await until(() => isInside);
    await steal();
    here.open();
    await ticking;

    expect(await effects()).toEqual([]);
    // On SQLite the theft stands in the very transaction that is rolled back: nobody else could have written.
    if (!database.isSqlite) expect(await rig.row()).toMatchObject({ status: 'running' });
    expect(told).toEqual(database.isSqlite ? [] : ['lost']);
  });

  it('rolls back at a cancel at once, and refuses the handler everything from then on', async () => {
    const here = gate();
    let isInside = false;
    let late: unknown;
    handle(async ({ manager }) => {
      await write(manager, 'a');
      isInside = true;
      await here.pass;
      late = await write(manager, 'b').catch((error: unknown) => error);
    });
    const id = await queue.enqueue('work');
    const ticking = queue.tick();
    await until(() => isInside);
    if (database.isSqlite) {
      // An admin waits for the connection as everybody does.
      const cancelling = queue.cancel(id);
      here.open();
      await ticking;
      expect(await cancelling).toEqual({ result: 'notFound' });
      return;
    }
    expect(await queue.cancel(id)).toEqual({ result: 'done', from: 'running' });
    await ticking;
    here.open();
    await until(() => late !== undefined);

    expect(String(late)).toMatch(/released|not queryable/i);
    expect(await effects()).toEqual([]);
    expect(await rig.row()).toMatchObject({ status: 'cancelled' });
  });

  it('rolls back at its timeout, and what the handler still does comes to nothing', async () => {
    const here = gate();
    let late: unknown;
    handle(
      async ({ manager }) => {
        await write(manager, 'a');
        await here.pass;
        late = await write(manager, 'b').then(
          () => 'written',
          (error: unknown) => error,
        );
      },
      { timeout: 50 },
    );
    await queue.enqueue('work');

    await queue.tick();
    here.open();
    await until(() => late !== undefined);

    expect(late).not.toBe('written');
    expect(await effects()).toEqual([]);
    expect(await rig.row()).toMatchObject({ attempts: 1, last_error: 'timed out after 50 ms' });
  });

  it('is rolled back by a stop that it does not heed, and does not hold up the end of the app', async () => {
    const own = await rig.queue({ shutdownTimeout: 0 });
    let isInside = false;
    handle(
      async ({ manager }) => {
        await write(manager, 'a');
        isInside = true;
        await new Promise(() => undefined);
      },
      {},
      own,
    );
    await own.enqueue('work');
    await own.start();
    await until(() => isInside);

    await own.close();

    expect(await effects()).toEqual([]);
    await dataSource.query('SELECT 1');
  });

  it('still counts where it ends well within a stop', async () => {
    const own = await rig.queue();
    const here = gate();
    let isInside = false;
    handle(
      async ({ manager, signal }) => {
        isInside = true;
        await write(manager, 'a');
        await here.pass;
        void signal;
      },
      {},
      own,
    );
    await own.enqueue('work');
    await own.start();
    await until(() => isInside);
    const stopping = own.stop();
    here.open();
    await stopping;

    expect(await effects()).toEqual(['a']);
    expect(await rig.rows()).toEqual([]);
  });

  it('enqueues in its transaction without being told, and wakes workers at the commit', async () => {
    const seen: string[] = [];
    handle(async () => {
      await queue.enqueue('next', 'a');
      await queue.enqueueMany([{ type: 'next', payload: 'b' }]);
      if (!database.isSqlite) seen.push(...(await rig.rows("job_type = 'next'")).map(({ id }) => id));
    });
    queue.register('next', (payload) => seen.push(String(payload)));
    await queue.enqueue('work');
    await queue.start();

    await until(() => seen.length >= 2);
    expect(seen.toSorted()).toEqual(['a', 'b']);
  });

  it('takes back what it enqueued when it fails, unique keys included, but not what it enqueued beside it', async () => {
    handle(async () => {
      await queue.enqueue('next', 'a', { uniqueKey: 'k' });
      await queue.enqueue('next', 'b');
      if (!database.isSqlite) await queue.enqueue('beside', 'c', { manager: null });
      throw new Error('boom');
    });
    await queue.enqueue('work', undefined, { maxRetries: 0 });

    await queue.tick();

    expect((await rig.rows("job_type <> 'work'")).map(({ job_type }) => job_type)).toEqual(
      database.isSqlite ? [] : ['beside'],
    );
    expect(await queue.tryEnqueue('next', 'd', { uniqueKey: 'k' })).toMatchObject({ outcome: 'stored' });
  });

  // Elsewhere the heartbeat has a connection of its own, whatever a handler does.
  if (database.isSqlite)
    it('renews its lease for as long as it has the only connection', async () => {
      const own = await rig.queue({ lease: 1_500, workers: 2 });
      const other = await rig.queue({ lease: 1_500 });
      let runs = 0;
      const long = async ({ manager }: JobContext<EntityManager>): Promise<void> => {
        runs += 1;
        await write(manager, `run ${runs}`);
        await new Promise((resolve) => setTimeout(resolve, 2_000));
      };
      handle(long, {}, own);
      handle(long, {}, other);
      await own.enqueue('work');
      await own.start();
      await until(() => runs === 1);
      await other.start();
      await until(async () => (await rig.rows()).length === 0);

      expect(runs).toBe(1);
      expect(await effects()).toEqual(['run 1']);
    });

  it('many at a time each have their effect once', async () => {
    const own = await rig.queue({ workers: 4 });
    handle(
      async ({ id, manager, attempt }) => {
        await write(manager, id);
        if (attempt === 1) throw new Error('boom');
      },
      { backoff: { ...defaultBackoff, initial: 1 } },
      own,
    );
    const ids = await own.enqueueMany(Array.from({ length: 20 }, () => ({ type: 'work' })));
    await own.start();
    await until(async () => (await rig.rows()).length === 0);

    expect(await effects()).toEqual(ids.toSorted());
  });

  it('joins the transaction of the handler where the option transaction finds none', async () => {
    const own = await rig.queue({ transaction: () => undefined });
    handle(
      async () => {
        await own.enqueue('next');
        throw new Error('boom');
      },
      {},
      own,
    );
    await own.enqueue('work', undefined, { maxRetries: 0 });

    await own.tick();

    expect((await rig.rows()).map((row) => row.job_type)).toEqual(['work']);
  });

  if (database.isSqlite) {
    it('waits for a transaction of the app, and takes in those that begin meanwhile', async () => {
      const here = gate();
      const order: string[] = [];
      const before = dataSource.transaction(async (manager) => {
        await write(manager, 'before');
        await here.pass;
        order.push('app');
      });
      handle(async ({ manager }) => {
        order.push('handler');
        await write(manager, 'a');
        await dataSource.transaction((nested) => write(nested, 'nested'));
        throw new Error('boom');
      });
      const enqueued = queue.enqueue('work', undefined, { maxRetries: 0 });
      const ticking = enqueued.then(() => queue.tick());
      here.open();
      await before;
      await ticking;

      expect(order).toEqual(['app', 'handler']);
      expect(await effects()).toEqual(['before']);
    });
  } else {
    it('a stop does not wait for the connection of one that has not begun', async () => {
      const limit = database.name === 'mysql' ? { connectionLimit: 1 } : { max: 1 };
      const narrow = await database.connect({ poolSize: 1, extra: limit });
      const narrowRig = new QueueRig(narrow);
      const own = await narrowRig.queue({ shutdownTimeout: 0 });
      handle(({ manager }) => write(manager, 'a'), {}, own);
      await own.enqueue('work');
      const runner = narrow.createQueryRunner();
      await runner.connect();
      await own.start();
      await until(async () => (await rig.row()).status === 'running');

      await own.stop();

      expect(await rig.row()).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
      await runner.release();
      expect(await own.tick()).toBe(true);
      expect(await effects()).toEqual(['a']);
      await narrowRig.close();
    });
  }

  if (isPostgres) {
    it('fails for a commit that is refused, and is retried', async () => {
      await dataSource.query('CREATE TABLE parents (id integer PRIMARY KEY)');
      await dataSource.query(
        'CREATE TABLE children (id integer REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
      );
      handle(async ({ manager }) => {
        await write(manager, 'a');
        await manager.query('INSERT INTO children VALUES (1)');
      });
      await queue.enqueue('work');

      await queue.tick();

      expect(await effects()).toEqual([]);
      expect(await rig.row()).toMatchObject({
        status: 'pending',
        attempts: 1,
        last_error: expect.stringContaining('violates foreign key constraint'),
      });
    });
  }

  it('job.manager is refused where there is no transaction', async () => {
    let error: unknown;
    queue.register('plain', (_payload, job) => {
      try {
        return job.manager;
      } catch (caught) {
        error = caught;
        return undefined;
      }
    });
    await queue.enqueue('plain');
    await queue.tick();

    expect(error).toBeInstanceOf(InvalidManagerError);
  });

  describe('job.once', () => {
    it('runs a step once for all attempts, and remembers what it returned', async () => {
      const values: unknown[] = [];
      let runs = 0;
      queue.register('plain', async (_payload, job: JobContext<EntityManager>) => {
        const charge = await job.once('charge ü', async (manager) => {
          await write(manager, `charge ${++runs}`);
          return { id: 'ü😀' };
        });
        await job.once('nothing', () => undefined);
        values.push(charge);
        if (job.attempt < 3) throw new Error('boom');
      });
      await queue.enqueue('plain');
      while (values.length < 3) await queue.tick();

      expect(values).toEqual([1, 2, 3].map(() => ({ id: 'ü😀' })));
      expect(await effects()).toEqual(['charge 1']);
      expect(await rig.rows()).toEqual([]);
    });

    it('forgets a step that throws, with what it did', async () => {
      let runs = 0;
      queue.register('plain', async (_payload, job: JobContext<EntityManager>) => {
        await job.once('charge', async (manager) => {
          await write(manager, `charge ${++runs}`);
          if (runs === 1) throw new Error('boom');
        });
      });
      await queue.enqueue('plain');
      await queue.tick();
      await until(() => queue.tick());

      expect(await effects()).toEqual(['charge 2']);
    });

    it('does nothing for a worker that has lost its claim', async () => {
      let error: unknown;
      const here = gate();
      let isInside = false;
      queue.register('plain', async (_payload, job: JobContext<EntityManager>) => {
        isInside = true;
        await here.pass;
        await job.once('charge', (manager) => write(manager, 'charge')).catch((caught: unknown) => (error = caught));
      });
      await queue.enqueue('plain');
      const ticking = queue.tick();
      await until(() => isInside);
      await steal();
      here.open();
      await ticking;

      expect(error).toBeInstanceOf(JobAbortedError);
      expect(await effects()).toEqual([]);
    });

    it('has a transaction of its own in a transactional handler, which SQLite cannot give', async () => {
      let error: unknown;
      handle(async (job) => {
        await write(job.manager, 'outer');
        await job.once('charge', (manager) => write(manager, 'inner')).catch((caught: unknown) => (error = caught));
        if (job.attempt === 1) throw new Error('boom');
      });
      await queue.enqueue('work');
      await queue.tick();

      expect(await effects()).toEqual(database.isSqlite ? [] : ['inner']);
      if (database.isSqlite) expect(error).toBeInstanceOf(InvalidManagerError);
      await until(() => queue.tick());
      expect(await effects()).toEqual(database.isSqlite ? ['outer'] : ['inner', 'outer']);
    });
  });
});
