import { mostCharacters } from '../../lib/runtime/flow.js';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const few = 60;
/** What tells large jobs from small ones without a look at their payloads. */
const retriesOfLarge = 7;

forEachDatabase((database) => {
  let rig: QueueRig;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
  });

  afterEach(async () => {
    await rig.close();
    await database.empty();
  });

  async function countPending(): Promise<number> {
    const where = `status = 'pending' AND max_retries = ${retriesOfLarge}`;
    const answer: unknown = await rig.dataSource.query(`SELECT count(*) AS n FROM rws_jobs WHERE ${where}`);
    return Number((answer as readonly { readonly n: unknown }[])[0]?.n);
  }

  it('large jobs behind thousands of small ones do not fill the memory', async () => {
    const large = 'x'.repeat(1_000_000);
    const queue = await rig.queue({ workers: 1 });
    let started = 0;
    const waited: number[] = [];
    queue.register('work', async (payload) => {
      if (payload === 0) return;
      started += 1;
      // With one worker nothing else starts meanwhile: what is claimed and has not started waits in this process.
      waited.push(few - (await countPending()) - started);
    });
    await queue.enqueueMany(Array.from({ length: 6_000 }, () => ({ type: 'work', payload: 0 })));
    for (let n = 0; n < few; n++) await queue.enqueue('work', large, { maxRetries: retriesOfLarge });

    await queue.start();
    await until(() => waited.length === few, { within: 60_000 });

    expect(Math.max(...waited) * large.length).toBeLessThanOrEqual(mostCharacters);
    expect(started).toBe(few);
  }, 90_000);

  it('what a busy process has claimed ahead and cannot start, an idle one runs', async () => {
    const [busy, idle] = [await rig.queue({ workers: 2 }), await rig.queue({ workers: 2 })];
    const started = { busy: 0, idle: 0 };
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    for (const queue of [busy, idle]) queue.register('short', () => undefined);
    busy.register('long', () => {
      started.busy += 1;
      return finished;
    });
    idle.register('long', () => void (started.idle += 1));
    await busy.enqueueMany([
      ...Array.from({ length: 3_000 }, () => ({ type: 'short' })),
      ...Array.from({ length: few }, () => ({ type: 'long' })),
    ]);

    await busy.start();
    await until(() => started.busy === 2);
    await idle.start();
    await until(() => started.idle === few - 2);

    expect(started.busy).toBe(2);
    finish();
    await until(async () => (await rig.rows()).length === 0);
  });
});
