import { ChildProcess } from '../child-process.mjs';
import { percentile } from '../statistics.mjs';

/** @type {import('./index.mjs').Kind} */
export const claim = {
  name: 'claim',
  description:
    'our claim of 100 jobs beside a crowd of future and failed jobs, and without them; with the plans of the databases',
  async run({ crowd, rounds, servers, say, attach }) {
    const rows = [];
    for (const { id: server, name } of servers.filter(({ id }) => id !== 'redis')) {
      try {
        const { values, plans } = await measure({ server, rows: crowd, rounds, claims: 100 }, say);
        rows.push(...rowsOf(values, { name, crowd, server }));
        attach({ title: `${name}: the claim beside ${crowd} future and ${crowd} failed jobs`, plans });
      } catch (error) {
        say(`  claims on ${server}: FAILED, ${error.message}`);
      }
    }
    return rows;
  },
};

async function measure(settings, say) {
  const child = new ChildProcess('claim', '', settings);
  child.on('round', ({ round }) => say(`  round ${round + 1}/${settings.rounds}  claims on ${settings.server}`));
  try {
    const result = await child.hear('done');
    await child.stop();
    return result;
  } finally {
    child.kill();
  }
}

function rowsOf(values, { name, crowd, server }) {
  const tables = { empty: 'only the due jobs', crowded: `${crowd} future and ${crowd} failed jobs beside them` };
  const cases = { dueMs: 'claims 100 due jobs', noneMs: 'finds nothing due' };
  return Object.entries(cases).flatMap(([field, what]) =>
    Object.entries(tables).map(([table, described]) => {
      const times = values.filter((value) => value.table === table).map((value) => value[field]);
      const at = (percent) => percentile(times, percent);
      return {
        kind: 'claim',
        group: `${name}: ${what}`,
        id: `${server}-${table}`,
        name: described,
        setting: '',
        unit: 'ms',
        better: /** @type {const} */ ('less'),
        values: times,
        median: at(50),
        min: at(0),
        max: at(100),
      };
    }),
  );
}
