import type { JobContext, PersistentJobQueue, PersistentQueueOptions } from 'nestjs-jobs';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { SqlFaults } from '../support/sql-faults.js';
import { until } from '../support/until.js';

/** What the statements of all databases have in common that do this. */
/** The clean-up deletes as well, but names no claim. */
const acknowledgement = /DELETE (j )?FROM \S*rws_jobs[`"]?\s[\s\S]*claim_token/;
const otherOutcome = /attempts \+ /;
const claim = /SET status = 'running'/;

forEachDatabase((database) => {
  let rig: QueueRig;
  let faults: SqlFaults;
  /** Runs of each job, by its payload. */
  let runs: Map<unknown, number>;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    faults = new SqlFaults(database);
    runs = new Map();
  });

  afterEach(async () => {
    faults.restore();
    await rig.close();
    await database.empty();
  });

  async function queueOf(options: PersistentQueueOptions = {}): Promise<PersistentJobQueue> {
    const queue = await rig.queue({ lease: 2_000, ...options });
    queue.register('work', (payload) => void runs.set(payload, (runs.get(payload) ?? 0) + 1));
    queue.register('flaky', (_payload, { attempt }: JobContext) => {
      runs.set('flaky', attempt);
      if (attempt === 1) throw new Error('boom');
    });
    return queue;
  }

  async function enqueue(queue: PersistentJobQueue, jobs: number): Promise<void> {
    await queue.enqueueMany(Array.from({ length: jobs }, (_unused, n) => ({ type: 'work', payload: n })));
  }

  const isDone = async (): Promise<boolean> => (await rig.rows()).length === 0;

  it.each(['connection', 'passing'] as const)('only the acknowledgement is repeated: %s', async (error) => {
    const queue = await queueOf();
    await enqueue(queue, 11);
    faults.fail({ statement: acknowledgement, times: 3, error });

    await queue.start();
    await until(isDone);

    expect(faults.hits).toBe(3);
    expect([...runs.values()]).toEqual(Array.from({ length: 11 }, () => 1));
    expect(rig.sink.lines.filter((line) => line.includes('lost its claim'))).toEqual([]);
  });

  it.each([
    ['claims', claim, false],
    ['claims whose answers get lost', claim, true],
    ['acknowledgements', acknowledgement, false],
    ['acknowledgements whose answers get lost', acknowledgement, true],
  ])(
    'in the middle of a long backlog failing %s cost no job and no second run',
    async (_what, statement, isEffective) => {
      const queue = await queueOf();
      await enqueue(queue, 4_000);
      await queue.start();
      await until(() => runs.size > 1_000);

      faults.fail({ statement, times: 3, error: 'connection', isDone: isEffective });
      await until(isDone, { within: 30_000 });

      expect(faults.hits).toBe(3);
      expect(runs.size).toBe(4_000);
      expect([...runs.values()].filter((count) => count > 1)).toEqual([]);
    },
  );

  it('while no acknowledgement can be stored other jobs are run', async () => {
    const queue = await queueOf();
    await queue.enqueue('work', 'first');
    faults.fail({ statement: acknowledgement, times: Infinity, error: 'connection' });
    await queue.start();
    await until(() => faults.hits === 2);

    await enqueue(queue, 3);
    await until(() => runs.size === 4);

    faults.restore();
    await until(isDone);
    expect([...runs.values()]).toEqual([1, 1, 1, 1]);
  });

  it.each(['connection', 'passing'] as const)(
    'an attempt whose retry cannot be stored is counted once: %s',
    async (error) => {
      const queue = await queueOf();
      await queue.enqueue('flaky');
      faults.fail({ statement: otherOutcome, times: 3, error });

      await queue.start();
      await until(isDone);

      expect(faults.hits).toBe(3);
      expect(runs.get('flaky')).toBe(2);
    },
  );

  it('a final failure that cannot be stored is stored later', async () => {
    const queue = await queueOf({ maxRetries: 0 });
    await queue.enqueue('flaky');
    faults.fail({ statement: otherOutcome, times: 3, error: 'connection' });

    await queue.start();
    await until(async () => (await rig.row()).status === 'failed');

    expect(await rig.row()).toMatchObject({ attempts: 1, last_error: 'boom', interruptions: 0 });
  });

  it('a tick whose acknowledgement fails does not reject', async () => {
    const queue = await queueOf();
    await queue.enqueue('work');
    faults.fail({ statement: acknowledgement, times: 3, error: 'connection' });

    expect(await queue.tick()).toBe(true);

    expect(await rig.rows()).toEqual([]);
    expect(runs.size).toBe(1);
  });

  it('the lease is renewed for as long as only the acknowledgement fails', async () => {
    const queue = await queueOf({ lease: 1_000 });
    await queue.enqueue('work');
    faults.fail({ statement: acknowledgement, times: Infinity, error: 'connection' });
    await queue.start();
    await until(() => faults.hits > 0);
    const leases = new Set<number | null>();

    // Each is renewed three times, so these are more than four whole leases.
    await until(async () => {
      const { status, lease_until: leaseUntil } = await rig.row();
      expect(status).toBe('running');
      return leases.add(leaseUntil).size > 13;
    });
    expect(await rig.row()).toMatchObject({ interruptions: 0, attempts: 0 });
    faults.restore();
    await until(isDone);

    expect([...runs.values()]).toEqual([1]);
    expect(rig.sink.lines.filter((line) => /lost its claim|was left by/.test(line))).toEqual([]);
  });

  it('an outage is told once, with what the driver said, and so is its end', async () => {
    const queue = await queueOf();
    await queue.enqueue('work');
    faults.fail({ statement: acknowledgement, times: 3, error: 'connection' });

    await queue.start();
    await until(isDone);
    await enqueue(queue, 20);
    await until(isDone);
    // Nobody waits for some seconds of peace any more: it is told now.
    await queue.stop();

    expect(rig.sink.lines).toHaveLength(2);
    const [down, up] = rig.sink.lines;
    expect(down).toMatch(
      /^error: the job store does not answer.*(terminated unexpectedly|Connection lost|disk I\/O error)/,
    );
    expect(up).toMatch(/^log: the job store answers again after/);
  });

  it('one outage that all workers meet, in fits and starts, is two lines for all of them', async () => {
    const queue = await queueOf({ queues: { mail: 1, reports: 1, exports: 1 }, workers: 1 });
    const names = [undefined, 'mail', 'reports', 'exports'];
    const enqueueEach = (): Promise<unknown> =>
      Promise.all(names.map((name) => queue.enqueue('work', name, name === undefined ? {} : { queue: name })));
    await enqueueEach();
    await queue.start();
    await until(isDone);

    for (let fault = 0; fault < 5; fault += 1) {
      const before = faults.hits;
      faults.fail({ statement: claim, times: 8, error: 'connection' });
      await enqueueEach();
      await until(() => faults.hits >= before + 8);
      await until(isDone);
    }
    await until(() => rig.sink.lines.length === 2);
    await enqueueEach();
    await until(isDone);
    await queue.stop();

    expect(rig.sink.lines).toEqual([
      expect.stringMatching(/^error: the job store does not answer, trying again until it does: could not settle/),
      expect.stringMatching(/^log: the job store answers again after/),
    ]);
  });

  it('a thousand jobs whose leases have ended while they waited somewhere are a dozen lines, and all are run', async () => {
    const queue = await queueOf();
    await enqueue(queue, 1_000);
    await rig.set("status = 'running', claim_token = 1, claimed_by = 'gone', lease_until = 1");

    await queue.start();
    await until(() => runs.size === 1_000);
    await until(isDone);
    await queue.stop();

    expect(rig.sink.lines.filter((line) => line.includes('was left by')).length).toBe(10);
    expect(rig.sink.lines.length).toBeLessThanOrEqual(12);
    const summedUp = rig.sink.lines.map((line) => Number(/and (\d+) more/.exec(line)?.[1] ?? 0));
    expect(summedUp.reduce((sum, count) => sum + count, 0)).toBe(990);
  });

  // SQLite answers at once or undoes what it did.
  if (database.isSqlite) return;

  it('an acknowledgement whose answer is lost is not taken for a lost claim', async () => {
    const queue = await queueOf();
    let started = 0;
    queue.register('last before the fault', () => {
      started += 1;
      const lost =
        database.name === 'mysql' ? { statement: /^COMMIT$/, after: acknowledgement } : { statement: acknowledgement };
      faults.fail({ ...lost, times: 1, error: 'connection', isDone: true });
    });
    await queue.enqueue('last before the fault');

    await queue.start();
    await until(async () => faults.hits === 1 && (await isDone()));
    await queue.stop();

    expect(rig.sink.lines.filter((line) => line.includes('answers again'))).toHaveLength(1);
    expect(started).toBe(1);
    expect(rig.sink.lines.filter((line) => line.includes('lost its claim'))).toEqual([]);
  });

  it('jobs of a claim whose answer is lost are run at once, and nothing is counted', async () => {
    const queue = await queueOf({ lease: 600_000 });
    await enqueue(queue, 5);
    const seen: number[] = [];
    queue.register('look', async () => void seen.push(...(await rig.rows()).map(({ interruptions }) => interruptions)));
    await queue.enqueue('look');
    const lost = database.name === 'mysql' ? { statement: /^COMMIT$/, after: claim } : { statement: claim };
    faults.fail({ ...lost, times: 1, error: 'connection', isDone: true });

    await queue.start();
    await until(isDone);

    expect(faults.hits).toBe(1);
    expect([...runs.values()]).toEqual([1, 1, 1, 1, 1]);
    expect(new Set(seen)).toEqual(new Set([0]));
  });
});
