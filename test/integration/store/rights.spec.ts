import type { DataSource } from 'typeorm';
import { SchemaError } from '../../../lib/model/errors.js';
import { PersistentJobQueue } from '../../../lib/queues/persistent-job-queue.js';
import { forEachDatabase } from '../../support/databases.js';
import { Page } from '../../support/markdown.js';
import { StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

/** What docs/databases.md tells the reader to grant on PostgreSQL, by statement. */
const granted = new Page('docs/databases.md')
  .codeBlocks()
  .filter(({ language, code }) => language === 'sql' && code.includes('GRANT'))
  .flatMap(({ code }) => code.split(';'))
  .map((statement) => statement.trim())
  .filter((statement) => statement !== '');

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    const role = `jobs_test_rights_${process.pid}`;
    const isPostgres = database.name === 'postgres';
    let owner: DataSource;

    async function connectAsRole(): Promise<DataSource> {
      const url = new URL(String(Reflect.get(database.options(), 'url')));
      url.username = role;
      url.password = 'secret';
      return database.connect({ url: url.href });
    }

    /** On MySQL a grant names one table. */
    async function grant(statement: string): Promise<void> {
      const text = statement.replace(/\bapp$/, role);
      if (isPostgres) return void (await owner.query(text));
      const [, rights = '', tables = ''] = /^GRANT (.+?)\s+ON (rws_.+) TO/s.exec(text) ?? [];
      for (const table of tables.split(', ').filter((name) => name !== '')) {
        await owner.query(`GRANT ${rights} ON ${String(owner.driver.database)}.${table} TO ${role}`);
      }
    }

    beforeEach(async () => {
      await rig.open();
      owner = await rig.dataSource();
      await owner.query(
        isPostgres ? `CREATE ROLE ${role} LOGIN PASSWORD 'secret'` : `CREATE USER ${role} IDENTIFIED BY 'secret'`,
      );
    });

    afterEach(async () => {
      const last = await database.connect();
      if (isPostgres) await last.query(`DROP OWNED BY ${role}`);
      await last.query(`DROP ${isPostgres ? 'ROLE' : 'USER'} ${role}`);
      await rig.clear();
    });

    it('a role with the rights that the page names does whatever a queue does', async () => {
      for (const statement of granted) await grant(statement);
      const queue = await PersistentJobQueue.create(await connectAsRole(), { schema: 'check', pollInterval: 50 });
      const ran: string[] = [];
      queue.register('limited', () => void ran.push('limited'), { rateLimit: { limit: 5, window: 60_000 } });
      queue.register('keyed', () => void ran.push('keyed'), { key: () => 'one' });
      queue.register('plain', () => void ran.push('plain'));

      await queue.enqueue('limited');
      await queue.enqueue('keyed');
      await queue.enqueue('plain', 1, { throttle: { window: 60_000 } });
      await queue.enqueueBatch([{ type: 'plain' }], { onComplete: { type: 'plain' } });
      await queue.schedules.set('nightly', { type: 'plain', cron: '0 3 * * *' });
      await queue.start();
      await until(() => ran.length === 5);
      await queue.admin.pause({ type: 'plain' });
      await queue.stop();

      expect(ran.toSorted()).toEqual(['keyed', 'limited', 'plain', 'plain', 'plain']);
    });

    if (!isPostgres) return;

    it('a role that may not read the version of the tables hears of it at the start', async () => {
      for (const statement of granted) await grant(statement);
      await owner.query(`REVOKE SELECT ON rws_jobs_schema FROM ${role}`);

      const opening = rig.openOn(await connectAsRole(), { schema: 'check' });

      await expect(opening).rejects.toThrow(SchemaError);
      await expect(opening).rejects.toThrow('GRANT SELECT ON "rws_jobs_schema" to it');
    });

    it.each(['rws_jobs', 'rws_jobs_limits', 'rws_jobs_slots'])(
      'a role that may not write %s hears of it at the start',
      async (table) => {
        for (const statement of granted) await grant(statement);
        await owner.query(`REVOKE UPDATE ON ${table} FROM ${role}`);

        const opening = rig.openOn(await connectAsRole(), { schema: 'check' });

        await expect(opening).rejects.toThrow(SchemaError);
        await expect(opening).rejects.toThrow(`GRANT SELECT, INSERT, UPDATE, DELETE ON "${table}" to it`);
      },
    );
  },
  ['postgres', 'mysql'],
);
