import { forEachDatabase } from '../support/databases.js';
import { Rig } from '../support/rig/rig.js';
import { until } from '../support/until.js';

/** The crashes of a process that a job kills again and again. */
const mostCrashes = 10;

forEachDatabase(
  (database) => {
    let rig: Rig;

    beforeEach(async () => {
      rig = await Rig.create(database);
    });

    afterEach(async () => {
      await rig.close();
      await database.empty();
    });

    /** Starts the app again whenever it dies, until nothing is left to run; tells how often it died. */
    async function supervise(): Promise<number> {
      const isOver = async (): Promise<boolean> => (await rig.rows("status <> 'failed'")).length === 0;
      for (let crashes = 0; crashes < mostCrashes; crashes += 1) {
        const app = rig.launch({ machine: 'the same', persistent: { interruptionBackoff: 10, lease: 600_000 } });
        let hasDied = false;
        void app.ended.then(() => (hasDied = true));
        await until(async () => hasDied || (await isOver()), { within: 60_000 });
        if (!hasDied) return crashes;
      }
      return mostCrashes;
    }

    it('a job that kills its process is started three times and then fails; its neighbours are done', async () => {
      const poison = await rig.enqueue([{ do: 'kill', signal: 'SIGKILL' }], { maxRetries: 2 });
      const neighbours = [await rig.enqueue([{ do: 'sleep', ms: 300 }]), await rig.enqueue([{ do: 'sleep', ms: 300 }])];

      const crashes = await supervise();

      expect(crashes).toBe(3);
      expect(await rig.row()).toMatchObject({
        id: poison,
        status: 'failed',
        attempts: 0,
        interruptions: 3,
        last_error: 'the worker died or lost its lease 3 time(s) while it ran this job; maxInterruptions is 3',
      });
      expect((await rig.effects()).filter(({ what }) => what === 'done').map(({ jobId }) => jobId)).toEqual(
        expect.arrayContaining(neighbours),
      );
    }, 120_000);
  },
  ['sqlite-file', 'postgres', 'mysql'],
);
