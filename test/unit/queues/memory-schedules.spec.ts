import { JobQueue } from '../../../lib/queues/job-queue.js';
import { RecordingSink } from '../../support/recording-sink.js';
import { until } from '../../support/until.js';

const everySecond = '* * * * * *';

describe('the schedules of a memory queue', () => {
  let queue: JobQueue;
  let sink: RecordingSink;
  let ran: unknown[];

  beforeEach(() => {
    sink = new RecordingSink();
    ran = [];
    queue = new JobQueue({ maxRetries: 0 }, { sink });
    queue.register('work', (payload) => void ran.push(payload));
  });

  afterEach(() => queue.stop());

  it('fire, are changed, run now and removed', async () => {
    await queue.schedules.set('tick', { type: 'work', cron: '0 0 1 1 *', payload: 'yearly' });
    await queue.schedules.runNow('tick');
    await until(() => ran.length === 1);
    await queue.schedules.set('tick', { type: 'work', cron: everySecond, payload: { every: 'second' } });
    await until(() => ran.length === 2);
    expect(ran).toEqual(['yearly', { every: 'second' }]);
    expect(await queue.schedules.find('tick')).toMatchObject({ source: 'run time', lastSlot: expect.any(Date) });

    expect(await queue.schedules.remove('tick')).toBe(true);
    expect(await queue.schedules.list()).toEqual([]);
  });

  it('pass over slots while their last job waits or runs', async () => {
    let finish = (): void => undefined;
    queue.register('slow', () => new Promise<void>((resolve) => (finish = resolve)));
    await queue.schedules.set('slow', { type: 'slow', cron: everySecond });

    await until(async () => ((await queue.schedules.find('slow'))?.skipped ?? 0) > 0);

    expect(await queue.schedules.pause('slow')).toBe(true);
    finish();
  });

  it('take a job that waits for another one of its key for the one before', async () => {
    let finish = (): void => undefined;
    const running = new Promise<void>((resolve) => (finish = resolve));
    queue.register('one', () => running, { key: () => 'k' });
    await queue.schedules.set('one', { type: 'one', cron: '0 0 1 1 *' });
    queue.submit('one');

    await queue.schedules.runNow('one');

    const waiting = (await queue.schedules.find('one'))?.lastJobId ?? '';
    expect(queue['store'].holds(waiting)).toBe(true);
    finish();
  });

  it('end with the queue, and without a word', async () => {
    queue.schedules.declare('tick', { type: 'work', cron: everySecond, payload: (slot: Date) => slot.getTime() });
    await until(() => ran.length === 1);

    await queue.join();

    const count = ran.length;
    expect(sink.lines).toEqual([]);
    queue.start();
    await until(() => ran.length > count);
  });
});
