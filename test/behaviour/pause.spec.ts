import { InvalidOptionError } from '../../lib/model/errors.js';
import type { PauseOptions } from '../../lib/admin/pause-options.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

forEachDatabase((database) => {
  let rig: QueueRig;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  it('keeps every process from claiming jobs of a type, also those that start later, and nothing else', async () => {
    const [first, ran] = [await rig.queue(), [] as unknown[]];
    await first.enqueueMany([
      { type: 'mail', payload: 1 },
      { type: 'other', payload: 2 },
    ]);

    expect(await first.admin.pause({ type: 'mail' })).toBe(true);
    expect(await first.admin.pause({ type: 'mail' })).toBe(false);
    const second = await rig.queue({ unknownTypes: 'fail' });
    for (const queue of [first, second]) {
      queue.register('mail', (payload) => ran.push(payload));
      queue.register('other', (payload) => ran.push(payload));
      await queue.start();
    }
    await until(() => ran.length === 1);
    await first.enqueue('mail', 3);
    expect(await first.tick()).toBe(false);

    expect(ran).toEqual([2]);
    expect(await second.admin.paused()).toEqual([{ kind: 'type', name: 'mail' }]);
    expect(await second.admin.resume({ type: 'mail' })).toBe(true);
    await until(() => ran.length === 3);
    expect(await first.admin.resume({ type: 'mail' })).toBe(false);
    expect(await first.admin.paused()).toEqual([]);
  });

  it('keeps a queue from being worked on, whatever the types of its jobs', async () => {
    const queue = await rig.queue();
    const ran: unknown[] = [];
    for (const type of ['a', 'b']) queue.register(type, (payload) => ran.push(payload));
    await queue.admin.pause({ queue: 'side' });
    await queue.enqueue('a', 1, { queue: 'side', priority: -100 });
    await queue.enqueue('b', 2, { queue: 'side' });
    await queue.enqueue('a', 3);
    await queue.enqueue('b', 4, { queue: 'Side' });

    while (await queue.tick());

    expect(ran).toEqual([3, 4]);
    await queue.admin.resume({ queue: 'side' });
    while (await queue.tick());
    expect(ran).toEqual([3, 4, 1, 2]);
  });

  it('lets jobs that run go on to their end', async () => {
    const queue = await rig.queue();
    let finish = (): void => undefined;
    queue.register('a', () => new Promise<void>((resolve) => (finish = resolve)));
    await queue.enqueue('a');
    const running = queue.tick();
    await until(async () => (await rig.rows("status = 'running'")).length === 1);

    await queue.admin.pause({ type: 'a' });
    await until(() => {
      finish();
      return true;
    });

    expect(await running).toBe(true);
    expect(await rig.rows()).toEqual([]);
  });

  it('takes names for names', async () => {
    const queue = await rig.queue();
    const odd = `a'b"c\`d\\e%_;--`;
    await queue.enqueue(odd);

    await queue.admin.pause({ type: odd });
    await queue.admin.pause({ queue: 'x'.repeat(64) });

    expect(await queue.tick()).toBe(false);
    expect(new Set(await queue.admin.paused())).toEqual(
      new Set([
        { kind: 'type', name: odd },
        { kind: 'queue', name: 'x'.repeat(64) },
      ]),
    );
  });

  it.each([[{}], [{ type: 'a', queue: 'b' }], [{ state: 'a' }], ['a'], [{ queue: '' }], [{ type: 7 }]])(
    'refuses %j',
    async (target) => {
      const queue = await rig.queue();

      const paused = queue.admin.pause(target as unknown as PauseOptions);
      await expect(paused).rejects.toThrow(/paused|queue must be|a job type must be|has no option/);
      await expect(queue.admin.pause({} as PauseOptions)).rejects.toThrow(InvalidOptionError);
    },
  );
});
