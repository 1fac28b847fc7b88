import { forEachDatabase } from '../support/databases.js';
import { Meter } from '../support/meter.js';
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

  it('runs no more jobs of a type at a time than its handler says, over all queues and priorities, and all of them', async () => {
    const queue = await rig.queue({ workers: 6, queues: { side: 4 } });
    const meter = new Meter();
    queue.register('narrow', meter.handler('narrow'), { concurrency: 2 });
    // Each waits for two others: with a limit that is none of theirs they would never end.
    queue.register('wide', async () => {
      const run = meter.handler('wide', 20)();
      await until(() => (meter.most.get('wide') ?? 0) > 2);
      await run;
    });
    await queue.enqueueMany(
      Array.from({ length: 60 }, (_, index) => ({
        type: 'narrow',
        priority: index % 3,
        queue: index % 5 === 0 ? 'side' : 'default',
      })),
    );
    await queue.enqueueMany(Array.from({ length: 12 }, () => ({ type: 'wide' })));

    await queue.start();
    await until(() => meter.done.get('narrow') === 60 && meter.done.get('wide') === 12);
    await queue.stop();

    expect(meter.most.get('narrow')).toBe(2);
    expect(meter.most.get('wide')).toBeGreaterThan(2);
    expect(await rig.rows()).toEqual([]);
  });

  it('obeys the option handlers before what the handler says, also where any type is claimed', async () => {
    const queue = await rig.queue({ workers: 6, unknownTypes: 'fail', handlers: { narrow: { concurrency: 1 } } });
    const meter = new Meter();
    queue.register('narrow', meter.handler('narrow'), { concurrency: 5 });
    await queue.enqueueMany(Array.from({ length: 20 }, () => ({ type: 'narrow' })));

    await queue.start();
    await until(() => meter.done.get('narrow') === 20);

    expect(meter.most.get('narrow')).toBe(1);
  });
});
