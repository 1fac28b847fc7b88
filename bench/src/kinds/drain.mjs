import { contestant } from '../contestants/index.mjs';
import { inTurns } from '../in-turns.mjs';
import { measureDrain } from '../measure-drain.mjs';

const ids = {
  'PostgreSQL, Redis': [
    'ours',
    'graphile-worker',
    'graphile-worker-preset',
    'graphile-worker-default',
    'pg-boss',
    'bullmq',
    'bullmq-postgres',
    'raw-postgres-500',
    'raw-postgres-1000',
    'raw-postgres-2000',
    'raw-postgres-1000-twice',
    'narrow-postgres-1000',
  ],
  'MySQL or MariaDB': ['ours-mysql', 'raw-mysql-100', 'raw-mysql-1000', 'narrow-mysql-1000'],
  SQLite: ['ours-sqlite', 'raw-sqlite-100', 'raw-sqlite-1000', 'narrow-sqlite-1000'],
};

/** A run of 50 000 is over within two seconds: what a process costs until it is at its pace shows beside one that is four times as long. */
const long = { times: 4, servers: 'PostgreSQL, Redis', ids: ['ours', 'graphile-worker', 'raw-postgres-1000'] };

const workers = [
  { processes: 1, inWords: '1 process' },
  { processes: 2, inWords: '2 processes' },
];

/** @type {import('./index.mjs').Kind} */
export const drain = {
  name: 'drain',
  description: 'no-op jobs that wait in the storage are run to the last, by one process and by two',
  async run({ jobs, rounds, select, say }) {
    const turns = [];
    const add = async (all, jobsOf, groupOf) => {
      for (const { processes, inWords } of workers) {
        for (const id of select(all)) {
          turns.push(turnOf({ subject: await contestant(id), group: groupOf(inWords), processes, jobs: jobsOf }));
        }
      }
    };
    for (const [servers, all] of Object.entries(ids)) await add(all, jobs, (inWords) => `${servers}: ${inWords}`);
    const { times, servers, ids: few } = long;
    await add(few, jobs * times, (inWords) => `${servers}: ${inWords}, ${times} × as many jobs`);
    return inTurns(turns, rounds, say);
  },
};

function turnOf({ subject, group, processes, jobs }) {
  const { id, name, setting, share = 1 } = subject;
  const given = Math.ceil(jobs * share);
  const row = {
    kind: 'drain',
    group,
    id,
    name,
    setting,
    note: share === 1 ? undefined : `${given} jobs`,
  };
  return {
    label: `${name}, ${row.group}`,
    async measure() {
      const { ms, cpuMs, machineMs } = await measureDrain(id, { jobs: given, processes });
      const cost = (unit, allMs) => ({
        ...row,
        unit,
        better: /** @type {const} */ ('less'),
        value: (allMs * 1_000) / given,
      });
      return [
        { ...row, unit: 'jobs/s', better: /** @type {const} */ ('more'), value: (given / ms) * 1_000 },
        cost('µs of processor time a job', cpuMs),
        cost('µs of processor time a job, the server with it', machineMs),
      ];
    },
  };
}
