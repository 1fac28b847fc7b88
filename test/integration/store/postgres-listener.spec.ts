import type { DataSource } from 'typeorm';
import type { JobStore } from '../../../lib/stores/job-store.js';
import { aJob } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    let dataSource: DataSource;
    let store: JobStore;
    let other: JobStore;
    let wakes: number;
    let stop: () => Promise<void>;

    /** Ends the connection that listens, however often it has been opened by then. */
    const endListener = async (): Promise<void> => {
      await until(async () => {
        const ended: readonly unknown[] = await dataSource.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'",
        );
        return ended.length > 0;
      });
    };

    beforeEach(async () => {
      wakes = 0;
      dataSource = await rig.dataSource();
      store = await rig.open();
      other = await rig.openAnother();
      stop = await store.listen(() => (wakes += 1));
      // The wake after the connect: from here on nothing is missed.
      await until(() => wakes === 1);
    });

    afterEach(async () => {
      await stop();
      await rig.clear();
    });

    it('hears of a job that another process has stored', async () => {
      await other.insert([aJob()]);

      await until(() => wakes === 2);
    });

    it("hears of a job in another process's transaction when that commits", async () => {
      const foreign = await database.connect();
      const foreignStore = await rig.openOn(foreign);

      await foreign.transaction((manager) => foreignStore.insert([aJob(), aJob()], manager));

      await until(() => wakes === 2);
    });

    it('hears nothing of a job that is due much later', async () => {
      await other.insert([aJob({ delayMs: 3_600_000 })]);
      await other.insert([aJob()]);
      await until(() => wakes > 1);

      expect(wakes).toBe(2);
    });

    it('hears nothing of the jobs of another table', async () => {
      const foreign = await rig.openAnother({ tableName: 'reports' });
      await foreign.insert([aJob()]);
      await other.insert([aJob()]);
      await until(() => wakes > 1);

      expect(wakes).toBe(2);
    });

    it('hears nothing once it is stopped, and leaves no connection', async () => {
      await stop();

      await until(async () => {
        const left: readonly unknown[] = await dataSource.query(
          "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'",
        );
        return left.length === 0;
      });
      await other.insert([aJob()]);
      expect(wakes).toBe(1);
    });

    it('comes back after its connection was ended, and wakes for what it missed: nothing to warn of', async () => {
      await endListener();
      await until(() => wakes === 2);
      await other.insert([aJob()]);
      await until(() => wakes === 3);

      expect(rig.warnings).toEqual([]);
    });

    it('can be stopped while it has no connection', async () => {
      await endListener();

      await expect(stop()).resolves.toBeUndefined();
    });

    it('is not needed: without notify a job of this process wakes all the same', async () => {
      const quiet = await rig.open({ notify: false });
      let quietWakes = 0;
      const stopQuiet = await quiet.listen(() => (quietWakes += 1));

      await quiet.insert([aJob()]);

      await until(() => quietWakes === 1);
      await stopQuiet();
    });
  },
  ['postgres'],
);
