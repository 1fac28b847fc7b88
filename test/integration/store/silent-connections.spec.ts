import type { DataSource } from 'typeorm';
import { aJob } from '../../support/a-job.js';
import { forEachDatabase, type TestDatabase } from '../../support/databases.js';
import { Proxy } from '../../support/proxy.js';
import { claim, claimed, StoreRig } from '../../support/store-rig.js';
import { until } from '../../support/until.js';

forEachDatabase(
  (database) => {
    const rig = new StoreRig(database);
    let proxy: Proxy;
    let stuck: readonly Promise<unknown>[] = [];

    afterEach(async () => {
      // What still waits for an answer hears that there will be none.
      proxy.cut();
      await Promise.allSettled(stuck);
      await rig.clear();
      await proxy.close();
    });

    it('a heartbeat gets through when all connections have gone silent and statements wait on them', async () => {
      const { app, ...made } = await connectThrough(database);
      proxy = made.proxy;
      const store = await rig.openOn(app, { connections: 3 });
      const job = await claimed(store, aJob());
      const many = (): Promise<unknown>[] => Array.from({ length: 6 }, () => claim(store));
      await Promise.all([...many(), store.extend([job], 1_500)]);

      proxy.freeze();
      stuck = many();
      const isExtended = async (): Promise<boolean> => {
        const lost = await store.extend([job], 1_500).catch(() => undefined);
        return lost?.length === 0;
      };

      await until(isExtended, { what: 'a heartbeat', within: 15_000 });
    });

    it('heartbeats and claims go by the connections that are open where the server takes no more', async () => {
      const { app, ...made } = await connectThrough(database);
      proxy = made.proxy;
      const store = await rig.openOn(app, { connections: 3 });
      await store.insert([aJob(), aJob()]);

      proxy.fill();
      const jobs = await claim(store);

      expect(await store.extend(jobs, 1_500)).toEqual([]);
      expect(jobs).not.toHaveLength(0);
    });
  },
  ['postgres', 'mysql'],
);

/** The app's DataSource, with a proxy between it and its server. */
async function connectThrough(database: TestDatabase): Promise<{ readonly app: DataSource; readonly proxy: Proxy }> {
  const { url } = database.options() as { readonly url: string };
  const place = new URL(url);
  const proxy = new Proxy({ port: Number(place.port) });
  await proxy.listen();
  place.port = String(proxy.port);
  return { app: await database.connect({ url: place.href }), proxy };
}
