import { forEachDatabase } from '../support/databases.js';
import type { Effect } from '../support/rig/effects.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const handlers = { narrow: { globalConcurrency: 2 }, rated: { rateLimit: { limit: 3, window: 400 } } };
const types = ['narrow', 'rated', 'order'];
const keys = ['ada', 'bob'];

/** One run of a job. */
interface Run extends Effect {
  /** Epoch milliseconds; of a run without an end, its start, or the death of its process. */
  readonly endedAt: number;
}

forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeEach(async () => {
      rig = await Rig.create(database);
    });

    afterEach(async () => {
      await rig.close();
      await database.clear();
    });

    it('limits and keys hold over all processes, also when one is killed in the middle of them', async () => {
      for (let n = 0; n < 12; n += 1) await rig.enqueue([{ do: 'sleep', ms: 40 }], { type: 'narrow' });
      for (let n = 0; n < 9; n += 1) await rig.enqueue([], { type: 'rated' });
      const lines = new Map<string, string[]>();
      for (const key of keys) {
        const ids: string[] = [];
        for (let n = 0; n < 6; n += 1) {
          const steps = n === 2 ? [{ do: 'throw' as const, message: 'once more' }] : [{ do: 'sleep' as const, ms: 20 }];
          ids.push(await rig.enqueue(steps, { type: 'order', key, maxRetries: 1 }));
        }
        lines.set(key, ids);
      }
      await rig.enqueue([{ do: 'wait', gate: 'never' }], { type: 'narrow', priority: -1, queue: 'first' });
      const victim = await rig.start({
        types: ['narrow'],
        persistent: { handlers: { narrow: handlers.narrow }, queues: { first: 1 }, workers: 0 },
      });
      await until(async () => (await rig.count('start')) > 0);

      const others = { types, persistent: { handlers } };
      await Promise.all([rig.start(others), rig.start(others)]);
      await until(async () => (await rig.count('done')) > 8);
      await victim.end('SIGKILL');
      const diedAt = Date.now();
      await rig.open('never');
      await until(async () => (await rig.rows("status <> 'failed'")).length === 0);

      const runs = runsOf(await rig.effects(), { pid: victim.pid, diedAt });
      expect(mostAtATime(runs.filter(({ jobType }) => jobType === 'narrow'))).toBeLessThanOrEqual(2);
      expect(runs.filter(({ jobType }) => jobType === 'narrow')).toHaveLength(14);
      // The clocks of this test count whole milliseconds.
      const starts = runs.filter(({ jobType }) => jobType === 'rated').map(({ at }) => at);
      for (const from of starts) {
        expect(starts.filter((at) => at >= from && at < from + 399).length).toBeLessThanOrEqual(3);
      }
      for (const ids of lines.values()) {
        const line = runs.filter(({ jobId }) => ids.includes(jobId));
        expect(line.map(({ jobId }) => ids.indexOf(jobId))).toEqual([0, 1, 2, 2, 3, 4, 5]);
        expect(mostAtATime(line)).toBe(1);
      }
      expect(rig.faults()).toEqual([]);
    }, 90_000);
  },
  ['sqlite-file', 'postgres', 'mysql'],
);

function runsOf(
  effects: readonly Effect[],
  killed: { readonly pid: number | undefined; readonly diedAt: number },
): Run[] {
  const starts = effects.filter(({ what }) => what === 'start');
  return starts.map((start) => {
    const isSame = (other: Effect): boolean =>
      other.jobId === start.jobId && other.pid === start.pid && other.run === start.run && other.what === 'done';
    const unended = start.pid === killed.pid ? killed.diedAt : start.at;
    return { ...start, endedAt: effects.find(isSame)?.at ?? unended };
  });
}

/** At the same millisecond an end comes before a start. */
function mostAtATime(runs: readonly Run[]): number {
  const beside = (run: Run): readonly Run[] =>
    runs.filter((other) => other === run || (other.at <= run.at && other.endedAt > run.at));
  return Math.max(...runs.map((run) => beside(run).length));
}
