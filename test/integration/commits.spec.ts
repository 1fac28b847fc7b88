import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const users = 20;

forEachDatabase((database) => {
  let rig: QueueRig;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    await rig.dataSource.query('CREATE TABLE users (id INTEGER NOT NULL PRIMARY KEY)');
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  it('a handler always finds what was written in the transaction that enqueued its job', async () => {
    const queue = await rig.queue({ pollInterval: 10 });
    const found: (readonly [unknown, number])[] = [];
    queue.register('welcome', async (id) => {
      const rows: readonly unknown[] = await rig.dataSource.query(`SELECT id FROM users WHERE id = ${Number(id)}`);
      found.push([id, rows.length]);
    });
    await queue.start();

    for (let id = 0; id < users; id += 1) {
      const signUp = rig.dataSource.transaction(async (manager) => {
        await queue.enqueue('welcome', id, { manager });
        // Time for a worker that would see too much.
        await new Promise((resolve) => setTimeout(resolve, 15));
        await manager.query(`INSERT INTO users (id) VALUES (${id})`);
        if (id % 2 === 1) throw new Error('changed my mind');
      });
      await signUp.catch(() => undefined);
    }
    await until(() => found.length === users / 2);

    expect(found.filter(([, rows]) => rows !== 1)).toEqual([]);
    expect(found.filter(([id]) => Number(id) % 2 === 1)).toEqual([]);
  });
});
