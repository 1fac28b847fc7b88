import type { DataSource } from 'typeorm';
import type { ListOptions } from '../../lib/admin/admin-options.js';
import type { JobRecord } from '../../lib/admin/job-record.js';
import { InvalidJobTypeError, InvalidOptionError, PayloadTooLargeError } from '../../lib/model/errors.js';
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
    rig = new QueueRig(dataSource);
    queue = await rig.queue({ maxRetries: 0 });
    queue.register('broken', () => {
      throw new Error('boom');
    });
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  /** Jobs that have failed, made without running them. */
  async function failed(count: number, type = 'a'): Promise<readonly string[]> {
    const ids = await queue.enqueueMany(Array.from({ length: count }, () => ({ type })));
    await rig.set("status = 'failed', attempts = 4, finished_at = created_at", `job_type = '${type}'`);
    return ids;
  }

  async function allPages(options: ListOptions): Promise<readonly JobRecord[]> {
    const jobs: JobRecord[] = [];
    let next: string | undefined;
    do {
      const page = await queue.admin.list({ ...options, after: next });
      jobs.push(...page.jobs);
      ({ next } = page);
    } while (next !== undefined);
    return jobs;
  }

  describe('list', () => {
    it.each(['pending', 'failed', undefined] as const)(
      'shows each job once, page by page, while others come and go (%s)',
      async (state) => {
        const ids = await queue.enqueueMany(
          Array.from({ length: 25 }, (_unused, n) => ({ type: `t${n % 3}`, runAt: 1_700_000_000_000 + (n >> 2) })),
        );
        if (state === 'failed') await rig.set("status = 'failed', finished_at = next_run_at");
        const first = await queue.admin.list({ state, limit: 7 });
        await queue.delete(String(first.jobs[3]?.id));

        const rest = await allPages({ state, limit: 7, after: first.next });

        const seen = [...first.jobs, ...rest.slice(0)].map(({ id }) => id);
        expect(new Set(seen)).toEqual(new Set(ids));
      },
    );

    it('ends with a page that has no next', async () => {
      await queue.enqueueMany(Array.from({ length: 4 }, () => ({ type: 'a' })));

      expect(await queue.admin.list({ limit: 4 })).toEqual({ jobs: expect.any(Array), next: undefined });
      expect((await queue.admin.list({ limit: 3 })).next).toEqual(expect.any(String));
    });

    it('shows payloads only when it is asked to', async () => {
      await queue.enqueue('a', { secret: 1 });

      const [plain] = (await queue.admin.list()).jobs;
      const [full] = (await queue.admin.list({ payload: true })).jobs;

      expect(plain).not.toHaveProperty('payload');
      expect(full?.payload).toEqual({ secret: 1 });
    });

    it('shows a payload that nobody can read as what it is', async () => {
      const id = await queue.enqueue('a', 1);
      await rig.set("payload = '{broken'");

      const job = await queue.find(id, { payload: true });

      expect(job).toMatchObject({ payloadError: expect.stringContaining('is not JSON') });
      expect(JSON.stringify(job)).not.toContain('{broken');
      expect((await queue.admin.list({ payload: true })).jobs).toHaveLength(1);
    });

    it.each<[string, unknown]>([
      ['sort', { sort: 'id;select pg_sleep(5)' }],
      ['status', { status: ['x'] }],
      ['state', { state: ['pending'] }],
      ['state', { state: 'pending;drop table rws_jobs' }],
      ['limit', { limit: 1e9 }],
      ['limit', { limit: 0 }],
      ['limit', { limit: '10' }],
      ['limit', { limit: 101, payload: true }],
      ['payload', { payload: 'yes' }],
      ['after', { after: 'x' }],
      ['after', { after: 7 }],
      ['after', { after: Buffer.from(" 1 ' OR 1=1 --").toString('base64url') }],
      ['createdBefore', { createdBefore: 1_700_000_000 }],
      ['createdFrom', { createdFrom: 'yesterday' }],
    ])('refuses an odd option: %s, %j', async (name, options) => {
      const refused = queue.admin.list(options as ListOptions);

      await expect(refused).rejects.toThrow(InvalidOptionError);
      await expect(refused).rejects.toThrow(name);
    });

    it('refuses a cursor of another state, and a type that can be none', async () => {
      await queue.enqueueMany([{ type: 'a' }, { type: 'a' }]);
      const { next } = await queue.admin.list({ state: 'pending', limit: 1 });

      await expect(queue.admin.list({ state: 'failed', after: next })).rejects.toThrow(InvalidOptionError);
      await expect(queue.admin.list({ type: '' })).rejects.toThrow(InvalidJobTypeError);
    });

    it('takes % and _ for themselves', async () => {
      await queue.enqueueMany([{ type: '100%' }, { type: '1000' }, { type: 'a_b' }, { type: 'axb' }]);

      expect((await queue.admin.list({ type: '100%' })).jobs).toHaveLength(1);
      expect((await queue.admin.list({ type: 'a_b' })).jobs).toHaveLength(1);
    });
  });

  describe('what it tells', () => {
    it('is of the same types on all databases, in JSON too', async () => {
      const id = await queue.enqueue('broken', { n: 1 });
      await queue.tick();
      await rig.set('attempts = 11, finished_at = 9007199254740991');

      const job = JSON.parse(JSON.stringify(await queue.find(id, { payload: true }))) as Record<string, unknown>;

      const types = Object.fromEntries(Object.entries(job).map(([key, value]) => [key, typeof value]));
      expect(types).toEqual({
        id: 'string',
        type: 'string',
        state: 'string',
        attempts: 'number',
        maxRetries: 'number',
        interruptions: 'number',
        runAt: 'number',
        createdAt: 'number',
        finishedAt: 'number',
        lastError: 'string',
        queue: 'string',
        priority: 'number',
        history: 'object',
        payload: 'object',
      });
      expect(job).toMatchObject({ attempts: 11, finishedAt: 9_007_199_254_740_991, lastError: 'boom' });
    });

    it('counts by state and by type', async () => {
      await failed(3);
      await queue.enqueueMany([{ type: 'a' }, { type: 'b' }]);

      const counts = await queue.admin.counts();

      expect(counts.total).toMatchObject({ pending: { count: 2, isExact: true }, failed: { count: 3, isExact: true } });
      expect(counts.types.map(({ type, states }) => [type, states.pending.count, states.failed.count])).toEqual([
        ['a', 1, 3],
        ['b', 1, 0],
      ]);
      expect((await queue.admin.counts({ upTo: 2 })).total.failed).toEqual({ count: 2, isExact: false });
      expect(JSON.parse(JSON.stringify(counts))).toEqual(counts);
    });

    it('names the oldest due job of each type', async () => {
      const id = await queue.enqueue('a', null, { runAt: 1_700_000_000_000 });
      await queue.enqueue('a');

      expect(await queue.admin.oldestDue()).toEqual([
        { id, type: 'a', runAt: 1_700_000_000_000, waitingMs: expect.any(Number) },
      ]);
    });

    it('names the processes that run jobs', async () => {
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      queue.register('long', () => gate);
      await queue.enqueueMany([{ type: 'long' }, { type: 'long' }]);
      await queue.start();
      await until(async () => (await rig.rows("status = 'running'")).length === 2);

      const processes = await queue.admin.processes();

      expect(processes).toEqual([
        {
          name: (await rig.rows())[0]?.claimed_by,
          host: expect.any(String),
          pid: process.pid,
          isAlive: true,
          holds: [{ type: 'long', count: 2 }],
        },
      ]);
      await rig.set('lease_until = 1');
      expect((await queue.admin.processes())[0]?.isAlive).toBe(false);
      go();
    });

    it('finds nothing under what is no id, and refuses what is no text', async () => {
      for (const id of ['', "' OR 1=1 --", '0', 'constructor', '01890000-0000-7000-8000-00000000000']) {
        expect(await queue.find(id)).toBeUndefined();
      }
      await expect(queue.find(['x'] as unknown as string)).rejects.toThrow(InvalidOptionError);
      await expect(queue.cancel(undefined as unknown as string)).rejects.toThrow(InvalidOptionError);
    });

    it('takes an id in capitals for the same', async () => {
      const id = await queue.enqueue('a');

      expect((await queue.find(id.toUpperCase()))?.id).toBe(id);
    });
  });

  describe('bulk', () => {
    it('retries all failed jobs once, though it is asked twice at once', async () => {
      const ids = await failed(1_200);
      const running = await queue.enqueue('running');
      await rig.set("status = 'running', lease_until = 9000000000000", `id = '${running}'`);

      const [one, two] = await Promise.all([queue.admin.retryMany({}), queue.admin.retryMany({ state: 'failed' })]);

      expect(one.done + two.done).toBe(ids.length);
      expect([one.isComplete, two.isComplete]).toEqual([true, true]);
      const rows = await rig.rows("status = 'pending' AND attempts = 0");
      expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      expect(await rig.row(`id = '${running}'`)).toMatchObject({ status: 'running' });
    });

    it('changes no more than its limit, and says that there is more', async () => {
      await failed(7);

      expect(await queue.admin.deleteMany({}, { limit: 5 })).toEqual({ done: 5, skipped: 0, isComplete: false });
      expect(await queue.admin.deleteMany({}, { limit: 5 })).toEqual({ done: 2, skipped: 0, isComplete: true });
    });

    it('cancels what waits and what runs of one type', async () => {
      const ids = await queue.enqueueMany([{ type: 'a' }, { type: 'a' }, { type: 'b' }]);
      await rig.set("status = 'running', lease_until = 9000000000000", `id = '${ids[0]}'`);

      expect(await queue.admin.cancelMany({ type: 'a' })).toEqual({ done: 2, skipped: 0, isComplete: true });

      expect((await rig.rows("status = 'cancelled'")).map(({ id }) => id).toSorted()).toEqual(
        ids.slice(0, 2).toSorted(),
      );
    });

    it('takes only jobs with a tag, or in a queue', async () => {
      await queue.enqueueMany([
        { type: 'a', tags: ['eu', 'x'], queue: 'mail' },
        { type: 'b', tags: ['eu'] },
        { type: 'a', queue: 'mail' },
      ]);

      expect((await queue.admin.counts({ tag: 'eu' })).total.pending.count).toBe(2);
      expect((await queue.admin.list({ queue: 'mail' })).jobs).toHaveLength(2);
      expect((await queue.admin.cancelMany({ tag: 'eu', queue: 'mail' })).done).toBe(1);
      expect((await queue.admin.deleteMany({ tag: 'eu', state: 'pending' })).done).toBe(1);
      await expect(queue.admin.list({ tag: ',,' })).rejects.toThrow('tag may not begin and end with a comma');
    });

    it('leaves what runs alone where it is to cancel what waits', async () => {
      const ids = await queue.enqueueMany([{ type: 'a' }, { type: 'a' }]);
      await rig.set("status = 'running', lease_until = 9000000000000", `id = '${ids[0]}'`);

      expect((await queue.admin.cancelMany({ state: 'pending' })).done).toBe(1);

      expect((await rig.row(`id = '${ids[0]}'`)).status).toBe('running');
    });

    it('deletes waiting jobs only when it is told so', async () => {
      await failed(2);
      const id = await queue.enqueue('waiting');

      expect((await queue.admin.deleteMany({})).done).toBe(2);
      expect((await rig.row()).id).toBe(id);
      expect((await queue.admin.deleteMany({ state: 'pending' })).done).toBe(1);
    });

    it('takes only jobs of the age that it is told', async () => {
      const [old] = await failed(3);
      await rig.set('created_at = 1700000000000', `id = '${old}'`);

      expect((await queue.admin.deleteMany({ createdBefore: 1_700_000_000_001 })).done).toBe(1);
      expect(await rig.rows(`id = '${old}'`)).toEqual([]);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['state', () => queue.admin.retryMany({ state: 'running' })],
      ['state', () => queue.admin.deleteMany({ state: 'running' })],
      ['state', () => queue.admin.cancelMany({ state: 'failed' })],
      ['everything', () => queue.admin.deleteMany({ everything: true } as object)],
      ['filter', () => queue.admin.deleteMany(undefined as unknown as object)],
      ['limit', () => queue.admin.deleteMany({}, { limit: -1 })],
    ])('refuses what makes no sense: %s', async (name, act) => {
      await expect(act()).rejects.toThrow(InvalidOptionError);
      await expect(act()).rejects.toThrow(name);
    });
  });

  describe('changes', () => {
    it('are refused where they make no sense', async () => {
      const id = await queue.enqueue('a');
      const { admin } = queue;

      await expect(admin.reschedule(id, {})).rejects.toThrow(InvalidOptionError);
      await expect(admin.reschedule(id, { delay: 1, runAt: new Date() })).rejects.toThrow(InvalidOptionError);
      await expect(admin.update(id, {})).rejects.toThrow(InvalidOptionError);
      await expect(admin.update(id, { maxRetries: -1 })).rejects.toThrow(InvalidOptionError);
      await expect(admin.update(id, { payload: 'x'.repeat(5_000_000) })).rejects.toThrow(PayloadTooLargeError);
      expect(await rig.row()).toMatchObject({ max_retries: 0, payload: '' });
    });
  });

  it('the app starts and works after all of that was done to odd rows at once', async () => {
    const ids = [
      ...(await failed(20)),
      ...(await queue.enqueueMany(Array.from({ length: 20 }, () => ({ type: 'a' })))),
    ];
    await rig.set("payload = '{broken'", `id = '${ids[0]}'`);
    const { admin } = queue;

    await Promise.all([
      ...ids.flatMap((id) => [admin.retry(id), admin.cancel(id), admin.delete(id)]),
      admin.retryMany({}),
      admin.cancelMany({}),
    ]);

    const next = await rig.queue();
    let runs = 0;
    next.register('a', () => void (runs += 1));
    await next.admin.retryMany({});
    await next.start();
    await until(async () => (await rig.rows("status IN ('pending', 'running')")).length === 0);
    expect((await rig.rows()).every(({ status }) => status === 'failed' || status === 'cancelled')).toBe(true);
  });
});
