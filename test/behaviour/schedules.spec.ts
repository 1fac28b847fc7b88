import type { DataSource } from 'typeorm';
import type { ScheduleOptions } from '../../lib/model/schedule-options.js';
import type { PersistentJobQueue } from '../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const hour = 3_600_000;
/** Its next slot is half an hour away, so that none comes while a test runs. */
const minute = (new Date().getUTCMinutes() + 30) % 60;
const later = `${(minute + 1) % 60} * * * *`;
const hourly: ScheduleOptions = { type: 'work', cron: `${minute} * * * *` };

/** The schedules as they stand in the table, by name. */
async function stored(dataSource: DataSource): Promise<ReadonlyMap<string, Record<string, unknown>>> {
  const rows: readonly Record<string, unknown>[] = await dataSource.query('SELECT * FROM rws_jobs_schedules');
  return new Map(rows.map((row) => [String(row['name']), row]));
}

/** As if nobody had run since so many hours ago, or before it. */
async function backdate(dataSource: DataSource, hours: number): Promise<void> {
  await dataSource.query(`UPDATE rws_jobs_schedules SET done_until = done_until - ${hours * hour}`);
}

async function doneUntil(dataSource: DataSource, name: string): Promise<number> {
  return Number((await stored(dataSource)).get(name)?.['done_until']);
}

forEachDatabase((database) => {
  let rig: QueueRig;
  let ran: unknown[];

  /** A queue that has its workers for a job, with the code of one deploy. */
  async function deploy(declare: (queue: PersistentJobQueue) => void = () => undefined): Promise<PersistentJobQueue> {
    const queue = await rig.queue();
    queue.register('work', (payload) => void ran.push(payload));
    declare(queue);
    await queue.start();
    return queue;
  }

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    ran = [];
  });

  afterEach(async () => {
    await rig.close();
    await database.clear();
  });

  it('fires each slot once over all queues, with what the payload function makes of it', async () => {
    const options = {
      type: 'work',
      cron: '* * * * * *',
      misfire: 'all',
      payload: (slot: Date) => slot.getTime(),
    } as const;
    for (let deploys = 0; deploys < 3; deploys += 1) await deploy((queue) => queue.schedules.declare('tick', options));

    await until(() => ran.length >= 2);

    const [first] = ran as readonly number[];
    expect(ran).toEqual(ran.map((_slot, index) => (first ?? 0) + index * 1_000));
    expect((first ?? 1) % 1_000).toBe(0);
  });

  it.each([
    ['skip', 0],
    ['once', 1],
    ['all', 3],
  ] as const)(
    "fires of the slots that nobody watched with '%s' %i, and none from before it was made",
    async (misfire, count) => {
      const maker = await rig.queue();
      await maker.schedules.set('hourly', { ...hourly, misfire, payload: { to: 'all' } });
      const before = await maker.schedules.nextRuns('hourly', 1);
      await backdate(rig.dataSource, 3);

      for (let deploys = 0; deploys < 3; deploys += 1) await deploy();
      await until(async () => (await doneUntil(rig.dataSource, 'hourly')) >= (before[0]?.getTime() ?? 0) - hour);
      await until(() => ran.length === count);

      expect(ran).toEqual(Array.from({ length: count }, () => ({ to: 'all' })));
      expect(await maker.schedules.nextRuns('hourly', 1)).toEqual(before);
    },
  );

  it('is made, changed, paused, resumed and removed at run time', async () => {
    const queue = await deploy();
    await queue.schedules.set('digest', { ...hourly, timeZone: 'Europe/Berlin', payload: 1, tags: ['nightly'] });
    await queue.schedules.set('digest', { ...hourly, cron: '30 7 * * *', timeZone: 'Asia/Tokyo', payload: 2 });

    expect(await queue.admin.schedules()).toEqual([
      {
        name: 'digest',
        type: 'work',
        cron: '30 7 * * *',
        timeZone: 'Asia/Tokyo',
        misfire: 'once',
        overlap: 'skip',
        source: 'run time',
        isPaused: false,
        nextRun: (await queue.schedules.nextRuns('digest', 2))[0],
        lastSlot: undefined,
        lastJobId: undefined,
        skipped: 0,
      },
    ]);
    expect((await queue.schedules.nextRuns('digest', 2)).map((run) => run.toISOString().slice(11))).toEqual([
      '22:30:00.000Z',
      '22:30:00.000Z',
    ]);
    expect([await queue.schedules.pause('digest'), await queue.schedules.pause('digest')]).toEqual([true, false]);
    await backdate(rig.dataSource, 48);
    expect(await queue.schedules.find('digest')).toMatchObject({ isPaused: true, nextRun: undefined });
    expect([await queue.schedules.resume('digest'), await queue.schedules.resume('digest')]).toEqual([true, false]);
    expect([await queue.schedules.remove('digest'), await queue.schedules.remove('digest')]).toEqual([true, false]);
    expect(await queue.schedules.list()).toEqual([]);
    expect(ran).toEqual([]);
    await expect(queue.schedules.nextRuns('digest')).rejects.toMatchObject({ code: 'JOBS_UNKNOWN_SCHEDULE' });
  });

  it('runs a job now, paused or not, with the options of the schedule', async () => {
    const queue = await rig.queue();
    await queue.schedules.set('digest', { ...hourly, payload: 'now', maxRetries: 7, queue: 'side', priority: -5 });
    await queue.schedules.pause('digest');

    const id = await queue.schedules.runNow('digest');

    expect(await queue.find(id)).toMatchObject({ type: 'work', maxRetries: 7, queue: 'side', priority: -5 });
    expect(await queue.schedules.find('digest')).toMatchObject({ lastJobId: id, lastSlot: undefined });
    await expect(queue.schedules.runNow('nightly')).rejects.toMatchObject({ code: 'JOBS_UNKNOWN_SCHEDULE' });
  });

  it('passes over slots while the job of the one before is not over, and counts them, unless it is to queue', async () => {
    const maker = await rig.queue();
    await maker.schedules.set('skipping', { ...hourly, misfire: 'all', overlap: 'skip' });
    await maker.schedules.set('queueing', { ...hourly, misfire: 'all' });
    for (const name of ['skipping', 'queueing']) await maker.schedules.runNow(name);
    await backdate(rig.dataSource, 3);
    await maker.admin.pause({ type: 'work' });

    const queue = await deploy();
    await until(async () => (await rig.rows()).length === 5);
    await until(async () => (await queue.schedules.find('skipping'))?.skipped === 3);

    expect(await queue.schedules.find('queueing')).toMatchObject({ overlap: 'queue', skipped: 0 });
    await queue.admin.resume({ type: 'work' });
    await until(() => ran.length === 5);
    await backdate(rig.dataSource, 1);
    await until(() => ran.length === 7);
  });

  it('is what the code of the newest process says, and is gone with it', async () => {
    const old = await deploy(({ schedules }) => {
      schedules.declare('kept', { ...hourly, payload: 'old' });
      schedules.declare('gone', hourly);
    });
    await until(async () => (await stored(rig.dataSource)).size === 2);
    await old.schedules.pause('kept');
    const { created_at: createdAt } = (await stored(rig.dataSource)).get('kept') ?? {};
    await deploy(({ schedules }) => schedules.declare('kept', { ...hourly, payload: 'new', cron: later }));
    await until(async () => (await stored(rig.dataSource)).size === 1);

    expect((await stored(rig.dataSource)).get('kept')).toMatchObject({ payload: '"new"', created_at: createdAt });
    expect(await old.schedules.list()).toMatchObject([{ name: 'kept', cron: later, isPaused: true, source: 'code' }]);
    await old.schedules.resume('kept');
    await backdate(rig.dataSource, 1);
    await until(() => ran.length === 1);
    expect(ran).toEqual(['new']);
    expect((await stored(rig.dataSource)).size).toBe(1);
  });

  it('keeps its place where a deploy leaves its times as they are, and begins anew where it changes them', async () => {
    const maker = await rig.queue();
    await maker.schedules.set('same', hourly);
    await maker.schedules.set('other', hourly);
    await backdate(rig.dataSource, 5);
    const before = await doneUntil(rig.dataSource, 'same');

    await maker.schedules.set('same', { ...hourly, payload: 'another' });
    await maker.schedules.set('other', { ...hourly, timeZone: 'Europe/Berlin' });

    expect(await doneUntil(rig.dataSource, 'same')).toBe(before);
    expect(await doneUntil(rig.dataSource, 'other')).toBeGreaterThan(before + 4 * hour);
  });

  it('is taken back by the code that runs when the process that declared it is silent', async () => {
    await deploy(({ schedules }) => schedules.declare('kept', { ...hourly, payload: 'old' }));
    const canary = await deploy(({ schedules }) => schedules.declare('kept', { ...hourly, payload: 'canary' }));
    await until(async () => (await stored(rig.dataSource)).get('kept')?.['payload'] === '"canary"');

    await canary.close();
    await rig.dataSource.query('UPDATE rws_jobs_schedules SET seen_at = seen_at - 120000');

    await until(async () => (await stored(rig.dataSource)).get('kept')?.['payload'] === '"old"');
  });

  it('has its payload made by the newest process where the text of the function is the same, and by another one after it', async () => {
    const says = (label: string) => (): string => label;
    await deploy(({ schedules }) => schedules.declare('kept', { ...hourly, payload: says('old') }));
    await until(async () => (await stored(rig.dataSource)).size === 1);
    const { generation: before } = (await stored(rig.dataSource)).get('kept') ?? {};
    const newest = await deploy(({ schedules }) => schedules.declare('kept', { ...hourly, payload: says('new') }));
    await until(async () => (await stored(rig.dataSource)).get('kept')?.['generation'] !== before);

    for (let slots = 1; slots <= 5; slots += 1) {
      await backdate(rig.dataSource, 1);
      await until(() => ran.length === slots);
      await until(async () => (await rig.rows()).length === 0);
    }
    await newest.close();
    await until(async () => (await stored(rig.dataSource)).get('kept')?.['generation'] === before);
    await backdate(rig.dataSource, 1);
    await until(() => ran.length === 6);

    expect(ran).toEqual(['new', 'new', 'new', 'new', 'new', 'old']);
  });

  it('cannot be changed or removed at run time where it stands in code, only paused', async () => {
    const queue = await deploy(({ schedules }) => schedules.declare('digest', { ...hourly, payload: () => 'made' }));
    const other = await rig.queue();
    await until(async () => (await stored(rig.dataSource)).size === 1);

    await expect(queue.schedules.remove('digest')).rejects.toMatchObject({ code: 'JOBS_DECLARED_SCHEDULE' });
    await expect(other.schedules.set('digest', hourly)).rejects.toMatchObject({ code: 'JOBS_DECLARED_SCHEDULE' });
    await expect(other.schedules.runNow('digest')).rejects.toMatchObject({ code: 'JOBS_DECLARED_SCHEDULE' });
    expect(await other.schedules.pause('digest')).toBe(true);
    await queue.schedules.runNow('digest');
    await until(() => ran.length === 1);
    expect(ran).toEqual(['made']);
  });

  it('loses neither a slot nor its other schedules when a job cannot be stored or made', async () => {
    let isBroken = true;
    const queue = await deploy(({ schedules }) => {
      schedules.declare('broken', {
        ...hourly,
        payload: () => {
          if (isBroken) throw new Error('no figures yet');
          return 'mended';
        },
      });
      schedules.declare('fine', { ...hourly, payload: 'fine' });
    });
    await until(async () => (await stored(rig.dataSource)).size === 2);
    const before = await doneUntil(rig.dataSource, 'broken');

    await backdate(rig.dataSource, 2);
    await until(() => ran.length === 1);

    expect(ran).toEqual(['fine']);
    expect(await doneUntil(rig.dataSource, 'broken')).toBe(before - 2 * hour);
    expect(rig.sink.lines).toEqual(["warn: the schedule 'broken' cannot fire now: no figures yet"]);
    isBroken = false;
    await queue.schedules.runNow('broken');
    await until(() => ran.length === 2);
  });

  it('takes a slot and stores its job together, or does neither', async () => {
    const maker = await rig.queue();
    await maker.schedules.set('digest', { ...hourly, payload: 'digest' });
    await backdate(rig.dataSource, 2);
    const before = await doneUntil(rig.dataSource, 'digest');
    const [schedule] = await maker.schedules.list();
    await rig.dataSource.query('ALTER TABLE rws_jobs RENAME TO away');

    await expect(maker.schedules.runNow('digest')).rejects.toMatchObject({ code: 'JOBS_STORE' });
    await rig.dataSource.query('ALTER TABLE away RENAME TO rws_jobs');

    expect(await doneUntil(rig.dataSource, 'digest')).toBe(before);
    expect(await maker.schedules.list()).toEqual([schedule]);
    await deploy();
    await until(() => ran.length === 1);
  });

  it('refuses what can never fire, by its name and with nothing stored', async () => {
    const queue = await rig.queue();
    const refused: readonly (readonly [object, RegExp])[] = [
      [{ cron: '61 * * * *' }, /the schedule 'x': cron must be five fields.*'61 \* \* \* \*'/],
      [{ cron: '' }, /got ''/],
      [{ cron: '0 0 31 2 *' }, /'0 0 31 2 \*' does not in the next 8 years/],
      [{ cron: undefined }, /cron must be a text.*undefined/],
      [{ timeZone: 'Berlin' }, /timeZone must be the name of a time zone.*'Berlin'/],
      [{ misfire: 'twice' }, /misfire must be 'skip' or 'once' or 'all', got 'twice'/],
      [{ overlap: 'wait' }, /overlap must be/],
      [{ maxRetries: -1 }, /maxRetries/],
      [{ payload: () => 1 }, /payload must be a JSON value, got a function/],
      [{ every: 5 }, /has no option 'every'/],
    ];
    for (const [options, message] of refused) {
      const given = { ...hourly, ...options } as ScheduleOptions;
      await expect(queue.schedules.set('x', given)).rejects.toMatchObject({
        code: 'JOBS_INVALID_OPTION',
        message: expect.stringMatching(message),
      });
    }
    await expect(queue.schedules.set(' x', hourly)).rejects.toThrow('name must be 1 to 255 characters');

    expect(await queue.schedules.list()).toEqual([]);
    queue.schedules.declare('never', { ...hourly, cron: '0 0 30 2 *' });
    await expect(queue.start()).rejects.toThrow("the schedule 'never': cron must come true some day");
  });
});
