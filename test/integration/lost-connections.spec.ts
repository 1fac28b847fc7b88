import type { DataSource } from 'typeorm';
import { forEachDatabase } from '../support/databases.js';
import { Rig, type RigApp } from '../support/rig/rig.js';
import { until } from '../support/until.js';

/** Connections of others to this database, as far as they match; `blocked` ones wait for a lock on the job table. */
const others = {
  postgres: {
    all: 'SELECT pid AS id FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    blocked: "SELECT pid AS id FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    end: (id: unknown) => `SELECT pg_terminate_backend(${String(id)})`,
    lock: ['BEGIN', 'LOCK TABLE rws_jobs IN ACCESS EXCLUSIVE MODE'],
    unlock: 'COMMIT',
  },
  mysql: {
    all: 'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
    blocked: `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND state LIKE 'Waiting for table%lock'`,
    end: (id: unknown) => `KILL ${String(id)}`,
    lock: ['LOCK TABLES rws_jobs WRITE'],
    unlock: 'UNLOCK TABLES',
  },
};

forEachDatabase(
  (database) => {
    const sql = others[database.name as keyof typeof others];
    let rig: Rig;
    let operator: DataSource;

    beforeEach(async () => {
      rig = await Rig.create(database);
      operator = await database.connect({ poolSize: 2 });
    });

    afterEach(async () => {
      await rig.close();
      await database.clear();
    });

    async function idsOf(which: 'all' | 'blocked'): Promise<readonly unknown[]> {
      const rows: readonly { readonly id: unknown }[] = await operator.query(sql[which]);
      return rows.map(({ id }) => id);
    }

    async function end(ids: readonly unknown[]): Promise<void> {
      for (const id of ids) await operator.query(sql.end(id));
    }

    /** The producer's connections may have been ended too, and it may not know it yet. */
    async function enqueue(): Promise<string> {
      return rig.enqueue([]).catch(() => enqueue());
    }

    async function expectToWork(app: RigApp): Promise<void> {
      const id = await enqueue();
      await until(async () => (await rig.count('done', id)) === 1);
      expect(app.faults).toEqual([]);
    }

    it('an app whose idle connections are ended goes on', async () => {
      const app = await rig.start();
      await expectToWork(app);

      await end(await idsOf('all'));

      await expectToWork(app);
    });

    it('an app whose connections are ended in the middle of a claim goes on, and says what was wrong', async () => {
      const app = await rig.start();
      await expectToWork(app);
      const runner = operator.createQueryRunner();
      for (const statement of sql.lock) await runner.query(statement);
      await until(async () => (await idsOf('blocked')).length > 0);

      await end(await idsOf('blocked'));
      await app.prints('the job store does not answer');
      await runner.query(sql.unlock);
      await runner.release();

      await app.prints('the job store answers again');
      await expectToWork(app);
      const [down] = app.lines.filter((line) => line.includes('does not answer'));
      expect(down).toMatch(/terminat|closed the connection|connection lost|killed/i);
    });
  },
  ['postgres', 'mysql'],
);

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

    it('an app whose listening connection is ended listens again', async () => {
      // Nothing but a notification can find a job in time.
      const app = await rig.start({ persistent: { pollInterval: 3_600_000 } });
      const listeners = async (): Promise<readonly number[]> => {
        const rows: readonly { pid: number }[] = await rig.dataSource.query(
          "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
        );
        return rows.map(({ pid }) => pid);
      };
      await until(async () => (await listeners()).length === 1);
      const [first] = await listeners();

      await rig.dataSource.query(`SELECT pg_terminate_backend(${String(first)})`);
      await until(async () => (await listeners()).some((pid) => pid !== first));
      const ids = [await rig.enqueue([]), await rig.enqueue([])];

      for (const id of ids) await until(async () => (await rig.count('done', id)) === 1);
      expect(app.lines.filter((line) => /^\[Jobs\] (warn|error)/.test(line))).toEqual([]);
      expect(app.faults).toEqual([]);
    });
  },
  ['postgres'],
);
