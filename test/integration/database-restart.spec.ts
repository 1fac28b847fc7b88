import { isRequired, isWanted } from '../support/databases.js';
import { OwnServer } from '../support/own-server.js';
import { Rig, type RigApp } from '../support/rig/rig.js';
import { hasMariadb, hasPostgres } from '../support/server-engines.js';
import { until } from '../support/until.js';

/** How often an app must at least knock at the port of a database that is down until it is started again. */
const knocks = 12;

const canRun = { postgres: await hasPostgres(), mysql: hasMariadb() };

for (const name of ['postgres', 'mysql'] as const) {
  // Not every machine can run a server of its own; the report names what was left out, as it does with a database that was not chosen.
  (isWanted(name) && (canRun[name] || isRequired()) ? describe : describe.skip)(`when ${name} is restarted`, () => {
    let server: OwnServer;
    let rig: Rig;
    let app: RigApp;
    let outageMs = 0;
    /** Ids of the job that runs all the time, and of the one that becomes due meanwhile. */
    let running = '';
    let waiting = '';
    /** While it was away. */
    let outage = { from: 0, to: 0 };

    beforeAll(async () => {
      server = await OwnServer.create(name);
      rig = await Rig.create(server);
      // No lease ends meanwhile, so nobody has a reason to run a job twice.
      app = await rig.start({ schedules: [{ name: 'tick', cron: '* * * * * *' }], persistent: { lease: 120_000 } });
      running = await rig.enqueue([{ do: 'wait', gate: 'after the restart' }]);
      await until(async () => (await rig.count('start', running)) === 1);
      waiting = await rig.enqueue([], { delay: 1_000 });
      const since = performance.now();
      await server.stop();
      const from = Date.now();
      await until(() => server.knocks >= knocks, { within: 60_000 });
      outageMs = performance.now() - since;
      outage = { from, to: Date.now() };
      await server.start();
    }, 180_000);

    afterAll(async () => {
      await rig.close();
      await server.remove();
    }, 60_000);

    it('an app goes on by itself afterwards', async () => {
      const id = await rig.enqueue([]);

      await until(async () => (await rig.count('done', id)) === 1);
    });

    it('a job that ran all the time and one that became due meanwhile are run to their ends, once each', async () => {
      await rig.open('after the restart');
      for (const id of [running, waiting]) {
        await until(async () => (await rig.rows(`id = '${id}'`)).length === 0);
        const effects = (await rig.effects(id)).map(({ what }) => what);
        expect(effects).toEqual(['start', 'done']);
      }
    });

    it('its schedule goes on, and catches up one slot of the outage', async () => {
      const slots = async (): Promise<readonly number[]> =>
        (await rig.effects())
          .filter(({ what }) => what.startsWith('slot '))
          .map(({ what }) => Date.parse(what.slice('slot '.length)));
      await until(async () => (await slots()).filter((slot) => slot > outage.to).length >= 2, { within: 60_000 });

      const fired = await slots();
      expect(fired.filter((slot) => slot > outage.from && slot < outage.to).length).toBeLessThanOrEqual(1);
      expect(new Set(fired).size).toBe(fired.length);
    });

    it('the outage is two lines of the log, and they are all that it writes', async () => {
      await app.prints('the job store answers again');
      const id = await rig.enqueue([]);
      await until(async () => (await rig.count('done', id)) === 1);

      const isAboutIt = (line: string): boolean => /^\[Jobs\] (warn|error)|answers again/.test(line);
      expect(app.lines.filter((line) => isAboutIt(line) && !line.includes('was left by'))).toEqual([
        expect.stringContaining('the job store does not answer'),
        expect.stringContaining('the job store answers again'),
      ]);
    });

    it('no error is left unheard', () => {
      expect(app.faults).toEqual([]);
    });

    it('nobody hammers at its door meanwhile', () => {
      // Five parts knock, each with pauses of its own; a tight loop knocks a thousand times a second.
      expect(outageMs / server.knocks).toBeGreaterThan(20);
    });
  });
}
