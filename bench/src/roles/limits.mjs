import { ours, quietSink } from '../contestants/ours.mjs';
import { libraryModule } from '../library.mjs';
import { median } from '../statistics.mjs';

const { PersistentJobQueue } = await libraryModule('index.js');
const { resolvePersistentOptions } = await libraryModule('model/queue-options.js');
const { storeSettings } = await libraryModule('queues/store-settings.js');
const { openTypeOrmStore } = await libraryModule('stores/open-typeorm-store.js');

/** What is said of the jobs, what keys they have, and the part of the jobs that is enough to tell. */
const drains = {
  'no limit': { share: 1 },
  'globalConcurrency: 32': { share: 5, policy: { globalConcurrency: 32 } },
  'rateLimit: 10 000 in 100 ms': { share: 5, policy: { rateLimit: { limit: 10_000, window: 100 } } },
  'a key of its own for each job': { share: 5, key: (n) => `key ${n}` },
  '100 keys': { share: 5, key: (n) => `key ${n % 100}` },
  'one key': { share: 50, key: () => 'one' },
};

/** What lies in the table while jobs with keys are claimed, of which ten others are due. */
const crowds = {
  'nothing beside': () => undefined,
  'due jobs of one key': () => ({ key: 'busy' }),
  'keys with a job that is not due': (n) => ({ key: `key ${n}`, delay: 86_400_000 }),
  'keys with a due job': (n) => ({ key: `key ${n}` }),
};
const claims = 50;

/** Drains jobs under each kind of limit with 32 workers, and times claims of jobs with keys beside a crowd. */
export async function limits({ settings: { server, jobs, crowd, rounds }, link }) {
  const values = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, settings] of Object.entries(drains)) {
      values.push({ what: 'drain', name, value: await drain(server, { ...settings, jobs }) });
    }
    for (const [name, make] of Object.entries(crowds)) {
      values.push({ what: 'claim', name, value: await timeClaims(server, { crowd, make }) });
    }
    link.tell('round', { round });
  }
  link.tell('done', { values });
  await link.hear('stop');
}

/** @returns jobs a second */
function drain(server, { jobs, share, policy, key }) {
  const count = Math.ceil(jobs / share);
  return withQueue(server, async ({ queue }) => {
    await enqueue(queue, count, (n) => ({ key: key?.(n) }));
    let done = 0;
    const ended = new Promise((resolve) => {
      const run = () => void ((done += 1) === count && resolve());
      queue.register('noop', run, { ...policy, ...(key === undefined ? {} : { key: String }) });
    });
    const startedAt = performance.now();
    await queue.start();
    await ended;
    return (count / (performance.now() - startedAt)) * 1_000;
  });
}

/** @returns milliseconds of one claim that finds a job, the median */
function timeClaims(server, { crowd, make }) {
  return withQueue(server, async ({ queue, dataSource }) => {
    await enqueue(queue, crowd, make);
    const store = await openTypeOrmStore(dataSource, storeSettings(resolvePersistentOptions({}), quietSink));
    await store.open();
    const types = [{ type: 'noop', isKeyed: true, most: 1 }];
    const times = [];
    for (let n = 0; n < claims; n += 1) {
      await queue.enqueue('noop', n, { key: `mine ${n}` });
      const startedAt = performance.now();
      const { claimed } = await store.claimLimited({
        types,
        limit: 1,
        owner: 'bench',
        leaseMs: 600_000,
        graceMs: 1_000,
      });
      times.push(performance.now() - startedAt);
      if (claimed.length !== 1) throw new Error('a claim found nothing');
      await store.exchange({ settle: [{ ...claimed[0], outcome: { kind: 'completed' } }], claim: undefined });
    }
    await store.close();
    return median(times);
  });
}

async function enqueue(queue, count, optionsOf) {
  for (let first = 0; first < count; first += 1_000) {
    const chunk = Array.from({ length: Math.min(1_000, count - first) }, (_, n) => first + n);
    const made = chunk
      .map((n) => ({ options: optionsOf(n), payload: n }))
      .filter(({ options }) => options !== undefined);
    await queue.enqueueMany(made.map(({ options, payload }) => ({ type: 'noop', payload, ...options })));
  }
}

async function withQueue(server, work) {
  const contestant = ours({ id: `ours-limits-${server}`, server });
  await contestant.setUp();
  const dataSource = await contestant.openDataSource();
  const queue = await PersistentJobQueue.create(dataSource, { workers: 32 }, { sink: quietSink });
  try {
    return await work({ queue, dataSource });
  } finally {
    await queue.close();
    await dataSource.destroy();
    await contestant.tearDown();
  }
}
