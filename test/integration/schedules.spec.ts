import { forEachDatabase, type TestDatabase } from '../support/databases.js';
import type { Effect } from '../support/rig/effects.js';
import type { RigApp } from '../support/rig/rig.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

const everySecond = { name: 'tick', cron: '* * * * * *' } as const;

/** What jobs noted, without what they do besides: `<label> <slot>`. */
async function notes(rig: Rig): Promise<readonly Effect[]> {
  return (await rig.effects()).filter(({ what }) => what.endsWith('Z'));
}

function slotOf({ what }: Effect): number {
  return Date.parse(what.split(' ').at(-1) ?? '');
}

/** The slot of each job. One whose process was killed in the middle of it has run again, and is still one job. */
async function slots(rig: Rig): Promise<readonly number[]> {
  const jobs = new Map((await notes(rig)).map((effect) => [effect.jobId, slotOf(effect)]));
  return [...jobs.values()].toSorted((a, b) => a - b);
}

/** All seconds from the first to the last one. */
function seconds(first = 0, last = first): readonly number[] {
  return Array.from({ length: (last - first) / 1_000 + 1 }, (_none, index) => first + index * 1_000);
}

function complaints(apps: readonly RigApp[]): readonly string[] {
  return apps.flatMap(({ lines }) => lines.filter((line) => /^\[[^\]]*\] (warn|error)/.test(line)));
}

function withRig(database: TestDatabase): { readonly rig: Rig } {
  const holder = {} as { rig: Rig };
  beforeEach(async () => {
    holder.rig = await Rig.create(database);
  });
  afterEach(async () => {
    await holder.rig.close();
    await database.clear();
  });
  return holder;
}

forEachDatabase(
  (database) => {
    const own = withRig(database);

    it('gives each slot one job over four processes with clocks that differ, one of which is killed', async () => {
      const { rig } = own;
      const schedules = [{ ...everySecond, misfire: 'all' as const }];
      const apps = await Promise.all([0, -300, 300, 0].map((clockShift) => rig.start({ schedules, clockShift })));
      const [first] = apps;
      await until(async () => (await slots(rig)).length >= 2);

      await first?.end('SIGKILL');
      const before = (await slots(rig)).length;
      await until(async () => (await slots(rig)).length >= before + 3, { within: 30_000 });

      const fired = await slots(rig);
      expect(fired).toEqual(seconds(fired[0], fired.at(-1)));
      expect(complaints(apps).filter((line) => !line.includes('was left by a worker'))).toEqual([]);
      expect(rig.faults()).toEqual([]);
    }, 90_000);
  },
  ['sqlite-file', 'postgres', 'mysql'],
);

forEachDatabase(
  (database) => {
    const own = withRig(database);

    it('catches up one slot after a process stood still, and after nobody ran', async () => {
      const { rig } = own;
      const schedules = [everySecond];
      const app = await rig.start({ schedules });
      await until(async () => (await slots(rig)).length >= 1);

      app.signal('SIGSTOP');
      const stoppedAt = Date.now();
      await until(() => Date.now() > stoppedAt + 3_700);
      const continuedAt = Date.now();
      app.signal('SIGCONT');
      await until(async () => (await slots(rig)).some((slot) => slot > continuedAt));
      await app.end('SIGTERM');
      const endedAt = Date.now();
      await until(() => Date.now() > endedAt + 1_500);
      const again = await rig.start({ schedules });
      const startedAt = Date.now();
      await until(async () => (await slots(rig)).some((slot) => slot > startedAt));

      const fired = await slots(rig);
      const between = (from: number, to: number): number => fired.filter((slot) => slot > from && slot < to).length;
      // One may have been under way as it stopped.
      expect(between(stoppedAt + 500, continuedAt)).toBeLessThanOrEqual(1);
      expect(between(endedAt, startedAt - 1_500)).toBeLessThanOrEqual(1);
      expect(new Set(fired).size).toBe(fired.length);
      expect(complaints([app, again])).toEqual([]);
    }, 90_000);

    it('does what the newest deploy says while the one before still runs, and leaves nothing behind', async () => {
      const { rig } = own;
      const has = async (label: string): Promise<boolean> =>
        (await notes(rig)).some(({ what }) => what.startsWith(label));
      const slow = [{ do: 'sleep', ms: 1_200 } as const];
      const first = await rig.start({ schedules: [{ ...everySecond, label: 'one', steps: slow }] });
      await until(() => has('one'));
      const second = await rig.start({ schedules: [{ ...everySecond, label: 'two' }] });
      await until(() => has('two'));
      const firstOfSecond = (await notes(rig)).filter(({ what }) => what.startsWith('two')).map(slotOf)[0] ?? 0;
      await until(async () => (await slots(rig)).filter((slot) => slot > firstOfSecond).length >= 2);

      const third = await rig.start({ schedules: [] });
      await until(async () => (await rig.dataSource.query('SELECT * FROM rws_jobs_schedules')).length === 0);
      await until(async () => (await rig.rows()).length === 0);
      const count = (await notes(rig)).length;
      const removedAt = Date.now();
      await until(() => Date.now() > removedAt + 1_200);

      const fired = await slots(rig);
      expect(new Set(fired).size).toBe(fired.length);
      expect((await notes(rig)).filter((note) => slotOf(note) > firstOfSecond && note.what.startsWith('one'))).toEqual(
        [],
      );
      expect((await notes(rig)).length).toBe(count);
      expect(await rig.dataSource.query('SELECT * FROM rws_jobs_schedules')).toEqual([]);
      expect(complaints([first, second, third])).toEqual([]);
    }, 90_000);
  },
  ['sqlite-file', 'postgres'],
);
