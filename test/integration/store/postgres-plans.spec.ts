import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import type { DataSource } from 'typeorm';
import { openPostgres } from '../../../lib/stores/typeorm/dialects/postgres-direct.js';
import { exchangeStatement } from '../../../lib/stores/typeorm/dialects/postgres-exchange.js';
import { laneStartUp } from '../../../lib/stores/typeorm/dialects/postgres-connections.js';
import { postgresPool, type PgPool } from '../../../lib/stores/typeorm/dialects/postgres-pool.js';
import { PreparedStatements } from '../../../lib/stores/typeorm/dialects/postgres-prepared.js';
import { closeOwnDataSource, openOwnDataSource } from '../../../lib/stores/typeorm/own-data-source.js';
import { aJob } from '../../support/a-job.js';
import { forEachDatabase } from '../../support/databases.js';
import { claimed, settle, StoreRig } from '../../support/store-rig.js';

const names = { table: 'rws_jobs', slots: 'rws_jobs_slots' };
const claim = { types: ['mine', 'other'], limit: 10, owner: 'ada', leaseMs: 1_000, room: 16_777_216 };
const uuid = '00000000-0000-7000-8000-000000000000';
const others = 200_000;

/** What a kept plan may not say of the job table: that all of it is read, or that rows of it are gathered first and sorted then. */
const walks = /Seq Scan on rws_jobs|Bitmap/;

/** Most of them in streams that are asked for, due and not, so that whoever reads a stream to its end is found out. */
const crowd = `INSERT INTO rws_jobs (id, job_type, payload, status, max_retries, next_run_at, created_at)
  SELECT gen_random_uuid(), CASE n % 3 WHEN 0 THEN 'foreign' ELSE 'mine' END, 'null', 'pending', 3,
    CASE n % 2 WHEN 0 THEN 9000000000000 ELSE n END, 1
  FROM generate_series(1, ${others}) AS n`;

/** Values as they stand in the text of a statement; not for anything that comes from outside. */
function literals(values: readonly unknown[]): string {
  return values.map((value) => `'${Array.isArray(value) ? `{${value.join(',')}}` : String(value)}'`).join(', ');
}

/** A server that answers to PostgreSQL's clients like a pooler that knows no start-up settings. */
async function refuseOptions(target: { readonly port: number }): Promise<Server> {
  const server = createServer((client) => {
    client.once('data', (startUp) => {
      if (startUp.includes('\0options\0')) {
        const fields = Buffer.from('SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0');
        const head = Buffer.from('E\0\0\0\0');
        head.writeInt32BE(fields.length + 4, 1);
        client.end(Buffer.concat([head, fields]));
        return;
      }
      const upstream = connect(target.port, '127.0.0.1');
      upstream.on('error', () => client.destroy());
      client.on('error', () => upstream.destroy());
      upstream.write(startUp);
      client.pipe(upstream).pipe(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(app: DataSource): number {
  return Number(new URL(String(Reflect.get(app.options, 'url'))).port || 5432);
}

function through(app: DataSource, change: (url: URL) => void): object {
  const url = new URL(String(Reflect.get(app.options, 'url')));
  change(url);
  return { url: url.href };
}

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);

    const poolers: Server[] = [];

    afterEach(async () => {
      await rig.clear();
      for (const pooler of poolers.splice(0)) pooler.close();
    });

    it.each(['claim', 'settle and claim'])(
      'a plan made for an empty table is right for a large one: %s',
      async (kind) => {
        await rig.open();
        const app = await rig.dataSource();
        await app.query('VACUUM ANALYZE rws_jobs');
        const own = await openOwnDataSource(app, 1, laneStartUp);
        const done = { id: uuid, token: '1', outcome: { kind: 'completed' } } as const;
        const failed = { id: uuid, token: '2', outcome: { kind: 'failed', error: 'x' } } as const;
        const request = { settle: kind === 'claim' ? [] : [done, failed], claim };
        const { text, values } = exchangeStatement(names, request);
        await postgresPool(own).query({ name: 'exchange', text, values });

        await app.query(crowd);
        const rows: readonly Record<string, string>[] = await own.query(
          `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE exchange(${literals(values)})`,
        );

        const plan = rows.map((row) => row['QUERY PLAN'] ?? '');
        expect(plan.filter((line) => walks.test(line))).toEqual([]);
        expect(plan.filter((line) => /rows=\d{4,}/.test(line))).toEqual([]);
        await closeOwnDataSource(own);
      },
    );

    it('each kind of statement is prepared once', async () => {
      await rig.open();
      const app = await rig.dataSource();
      const own = await openOwnDataSource(app, 1, laneStartUp);
      const prepared = new PreparedStatements(
        () => postgresPool(own),
        () => postgresPool(app),
      );
      const exchange = (): Promise<unknown> => prepared.say(exchangeStatement(names, { settle: [], claim }));

      await exchange();
      await exchange();

      const { rows } = await prepared.say({
        text: "SELECT name, generic_plans::integer AS plans FROM pg_prepared_statements WHERE statement LIKE 'WITH%'",
        values: [],
      });
      expect(rows).toEqual([{ name: expect.stringMatching(/^nestjs-jobs:[0-9a-f]{32}$/), plans: 2 }]);
      await closeOwnDataSource(own);
    });

    it('where the server forgets what was prepared, statements go without a name', async () => {
      await rig.open();
      const app = await rig.dataSource();
      const own = await openOwnDataSource(app, 1, laneStartUp);
      let left = 0;
      const pool = (): PgPool => {
        left += 1;
        return postgresPool(app);
      };
      const prepared = new PreparedStatements(() => postgresPool(own), pool);
      const exchange = (): Promise<unknown> => prepared.say(exchangeStatement(names, { settle: [], claim }));

      await exchange();
      await prepared.say({ text: 'DEALLOCATE ALL', values: [] });
      expect(left).toBe(0);
      await exchange();
      await exchange();

      expect(left).toBe(2);
      await closeOwnDataSource(own);
    });

    it('claims and inserts go on after the table was changed', async () => {
      const store = await rig.open();
      const app = await rig.dataSource();
      await claimed(store, aJob());

      await app.query('ALTER TABLE rws_jobs ADD COLUMN extra integer');
      await app.query('ALTER TABLE rws_jobs ALTER COLUMN max_retries TYPE bigint');

      const job = await claimed(store, aJob());
      expect(await settle(store, job)).toBe('settled');
    });

    it('a store behind a pooler that refuses settings works without them', async () => {
      const direct = await rig.dataSource();
      const pooler = await refuseOptions({ port: portOf(direct) });
      poolers.push(pooler);
      const { port } = pooler.address() as AddressInfo;
      const app = await database.connect(through(direct, (url) => (url.port = String(port))));

      const { own, isDirect } = await openPostgres(app, 1);
      const job = await claimed(await rig.openOn(app), aJob());

      expect(isDirect).toBe(false);
      expect(await own.query('SHOW jit')).toEqual([{ jit: 'off' }]);
      expect(job.type).toBe('work');
      await closeOwnDataSource(own);
      await rig.clear();
    });

    it('a store whose settings are passed over works without them', async () => {
      const direct = await rig.dataSource();
      const app = await database.connect(through(direct, (url) => url.searchParams.set('options', '-c work_mem=1MB')));

      const { own, isDirect } = await openPostgres(app, 1);

      expect(isDirect).toBe(false);
      expect(await own.query('SHOW work_mem')).toEqual([{ work_mem: '1MB' }]);
      expect((await claimed(await rig.openOn(app), aJob())).type).toBe('work');
      await closeOwnDataSource(own);
    });

    it("an app's own start-up settings go beside ours", async () => {
      const app = await database.connect({ extra: { options: '-c work_mem=1MB' } });

      const { own, isDirect } = await openPostgres(app, 1);

      expect(isDirect).toBe(true);
      expect(await own.query('SHOW work_mem')).toEqual([{ work_mem: '1MB' }]);
      await closeOwnDataSource(own);
    });
  },
  ['postgres'],
);
