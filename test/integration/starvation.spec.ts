import type { JobHandlerOptions } from 'nestjs-jobs';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { until } from '../support/until.js';

const slowJobs = 8;
/** So many short jobs wait all the time, and come at once. */
const backlog = 1_000;
const workers = 4;
const prefetch = 200;

type Limits = Pick<JobHandlerOptions, 'concurrency' | 'globalConcurrency'>;

forEachDatabase((database) => {
  let rig: QueueRig;
  let isOver: boolean;
  let producing: Promise<void>;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    isOver = false;
  });

  afterEach(async () => {
    isOver = true;
    await producing;
    await rig.close();
    await database.empty();
  });

  interface Told {
    /** For each slow job that has started: how many short ones that came after it were before it. */
    readonly overtakenBy: readonly number[];
    /** How many short ones waited then. */
    readonly waiting: readonly number[];
  }

  /** Short jobs that never end, and slow ones of this kind among them; resolves when those have started. */
  async function run(options: Limits): Promise<Told> {
    const queue = await rig.queue({ workers, prefetch });
    let added = 0;
    let started = 0;
    const told = { overtakenBy: [] as number[], waiting: [] as number[] };
    queue.register('short', () => void (started += 1));
    const slow = (ahead: unknown): Promise<void> => {
      told.overtakenBy.push(started - Number(ahead));
      told.waiting.push(added - started);
      return new Promise((resolve) => setTimeout(resolve, 20));
    };
    queue.register('slow', slow, options);
    const stream = async (): Promise<void> => {
      await queue.enqueueMany(Array.from({ length: backlog }, () => ({ type: 'short' })));
      added += backlog;
    };
    await stream();
    for (let n = 0; n < slowJobs; n++) await queue.enqueue('slow', added);
    await stream();
    const produce = async (): Promise<void> => {
      while (!isOver) {
        if (added - started < 2 * backlog) await stream();
        else await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    producing = produce();

    await queue.start();
    await until(() => told.overtakenBy.length === slowJobs, { what: 'the start of all slow jobs' });
    isOver = true;
    return told;
  }

  it('slow jobs start in their turn although short ones never end', async () => {
    const { overtakenBy, waiting } = await run({});

    // Two exchanges may be under way at once.
    expect(Math.max(...overtakenBy)).toBeLessThanOrEqual(2 * (prefetch + workers));
    expect(Math.min(...waiting)).toBeGreaterThan(0);
  });

  it.each<[string, Limits]>([
    ['in each process', { concurrency: 1 }],
    ['in all processes together', { globalConcurrency: 1 }],
  ])('jobs of a type with a limit %s all start although others never end', async (_where, options) => {
    const { waiting } = await run(options);

    expect(Math.min(...waiting)).toBeGreaterThan(0);
  });
});
