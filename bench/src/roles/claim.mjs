import { addCrowd, bringToRest } from '../claims/crowd.mjs';
import { explain } from '../claims/explain.mjs';
import { recordStatements } from '../driver-spy.mjs';
import { payloads } from '../contestant.mjs';
import { ours, quietSink } from '../contestants/ours.mjs';
import { libraryModule } from '../library.mjs';
import { median } from '../statistics.mjs';

const { resolvePersistentOptions } = await libraryModule('model/queue-options.js');
const { storeSettings } = await libraryModule('queues/store-settings.js');
const { openTypeOrmStore } = await libraryModule('stores/open-typeorm-store.js');

const batch = 100;
const owner = 'bench';

/**
 * Times the claim of our store, through its seam, on two tables: one with nothing but the jobs to be claimed, one with a crowd of
 * future and failed jobs beside them. Both are filled, claimed and emptied alike, in turns.
 */
export async function claim({ settings: { server, rows, rounds, claims }, link }) {
  const tables = [await openTable(server, 'empty'), await openTable(server, 'crowded')];
  await addCrowd(tables[1].storage, rows);
  await bringToRest(tables[1].storage);
  const values = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const table of round % 2 === 0 ? tables : tables.toReversed()) {
      values.push({ round, table: table.name, ...(await measure(table, claims)) });
    }
    link.tell('round', { round });
  }
  link.tell('done', { values, plans: await plansOf(tables[1]) });
  await link.hear('stop');
  for (const table of tables) await table.close();
}

async function openTable(server, name) {
  const storage = ours({ id: `ours-claim-${server}-${name}`, server });
  await storage.setUp();
  const session = await storage.open(async () => {});
  const dataSource = await storage.openDataSource();
  const store = await openTypeOrmStore(dataSource, storeSettings(resolvePersistentOptions({}), quietSink));
  await store.open();
  const close = async () => {
    await store.close();
    await dataSource.destroy();
    await session.close();
    await storage.tearDown();
  };
  return { name, storage, store, session, close };
}

/** Claims all due jobs, and then looks as often for more. @returns medians, milliseconds */
async function measure({ storage, store, session }, claims) {
  for (const chunk of payloads(batch * claims)) await session.enqueueMany(chunk);
  await bringToRest(storage);
  const due = await timeClaims(store, claims);
  const none = await timeClaims(store, claims);
  const settle = due.claimed.map(({ id, token }) => ({ id, token, outcome: { kind: 'completed' } }));
  if (settle.length !== batch * claims) throw new Error(`claimed ${settle.length} of ${batch * claims} jobs`);
  while (settle.length > 0) await store.exchange({ settle: settle.splice(0, 1_000), claim: undefined });
  return { dueMs: median(due.times), noneMs: median(none.times) };
}

async function timeClaims(store, claims) {
  const times = [];
  const claimed = [];
  for (let n = 0; n < claims; n += 1) {
    const startedAt = process.hrtime.bigint();
    const result = await store.exchange(claimRequest());
    times.push(Number(process.hrtime.bigint() - startedAt) / 1e6);
    claimed.push(...result.claimed);
  }
  return { times, claimed };
}

function claimRequest() {
  return { settle: [], claim: { types: ['noop'], limit: batch, owner, leaseMs: 600_000 } };
}

async function plansOf({ storage, store, session }) {
  for (const chunk of payloads(batch * 2)) await session.enqueueMany(chunk);
  const statements = await recordStatements(storage.server, () => store.exchange(claimRequest()));
  return explain(storage, statements);
}
