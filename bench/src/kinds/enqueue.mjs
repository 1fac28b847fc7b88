import { ChildProcess } from '../child-process.mjs';
import { contestant } from '../contestants/index.mjs';
import { inTurns } from '../in-turns.mjs';

const ids = {
  'PostgreSQL, Redis': ['ours', 'graphile-worker', 'pg-boss', 'bullmq', 'bullmq-postgres', 'raw-postgres-1000'],
  'MySQL or MariaDB': ['ours-mysql', 'raw-mysql-1000'],
  SQLite: ['ours-sqlite', 'raw-sqlite-1000'],
};

/** The slower ways get fewer jobs, so that each takes about as long. */
const ways = [
  { way: 'one by one, awaited', share: 0.05, settings: {} },
  { way: '32 in flight', share: 0.4, settings: { inFlight: 32 } },
  { way: '100 a call', share: 1, settings: { bulk: 100 } },
  { way: '1000 a call', share: 1, settings: { bulk: 1_000 } },
];

/** @type {import('./index.mjs').Kind} */
export const enqueue = {
  name: 'enqueue',
  description: 'jobs are stored and acknowledged: one by one, by 32 callers at once, in bulk',
  async run({ jobs, rounds, select, say }) {
    const turns = [];
    for (const [servers, all] of Object.entries(ids)) {
      for (const way of ways) {
        for (const id of select(all)) turns.push(turnOf({ subject: await contestant(id), servers, jobs, ...way }));
      }
    }
    return inTurns(turns, rounds, say);
  },
};

function turnOf({ subject, servers, jobs, way, share, settings }) {
  const { id, name } = subject;
  const row = {
    kind: 'enqueue',
    group: `${servers}: ${way}`,
    id,
    // How it would work does not matter here.
    name: name.replace(/,.*/, ''),
    setting: '',
    unit: 'jobs/s',
    better: /** @type {const} */ ('more'),
  };
  const given = Math.ceil(jobs * share);
  return {
    label: `${row.name}, ${row.group}`,
    measure: async () => ({ ...row, value: (given / (await measure(subject, { ...settings, jobs: given }))) * 1_000 }),
  };
}

/** @returns {Promise<number>} milliseconds */
async function measure(subject, settings) {
  await subject.setUp();
  const child = new ChildProcess('enqueue', subject.id, settings);
  try {
    await subject.seed(0);
    await child.hear('ready');
    const { ms } = await child.ask('go', 'done');
    await child.stop();
    return ms;
  } finally {
    child.kill();
    await subject.tearDown();
  }
}
