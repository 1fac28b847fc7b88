import { ChildProcess } from '../child-process.mjs';
import { percentile } from '../statistics.mjs';

const groups = {
  drain: { text: 'drains with 32 workers', unit: 'jobs/s', better: /** @type {const} */ ('more') },
  claim: { text: 'claims one job with a key', unit: 'ms', better: /** @type {const} */ ('less') },
};

/** @type {import('./index.mjs').Kind} */
export const limits = {
  name: 'limits',
  description:
    'jobs under limits of the fleet and with keys, beside jobs without; the claim of jobs with keys beside a crowd',
  async run({ jobs, keyedCrowd, rounds, servers, say }) {
    const rows = [];
    for (const { id: server, name } of servers.filter(({ id }) => id !== 'redis')) {
      try {
        rows.push(
          ...rowsOf(await measure({ server, jobs, crowd: keyedCrowd, rounds }, say), { name, server, keyedCrowd }),
        );
      } catch (error) {
        say(`  limits on ${server}: FAILED, ${error.message}`);
      }
    }
    return rows;
  },
};

async function measure(settings, say) {
  const child = new ChildProcess('limits', '', settings);
  child.on('round', ({ round }) => say(`  round ${round + 1}/${settings.rounds}  limits on ${settings.server}`));
  try {
    const { values } = await child.hear('done');
    await child.stop();
    return values;
  } finally {
    child.kill();
  }
}

function rowsOf(values, { name, server, keyedCrowd }) {
  return Object.entries(groups).flatMap(([what, { text, unit, better }]) => {
    const ofGroup = values.filter((value) => value.what === what);
    return [...new Set(ofGroup.map((value) => value.name))].map((each) => {
      const measured = ofGroup.filter((value) => value.name === each).map(({ value }) => value);
      const at = (percent) => percentile(measured, percent);
      return {
        kind: 'limits',
        group: `${name}: ${text}`,
        id: `${server}-${what}-${each}`,
        name: what === 'claim' && each !== 'nothing beside' ? `${keyedCrowd} ${each}` : each,
        setting: '',
        unit,
        better,
        values: measured,
        median: at(50),
        min: at(0),
        max: at(100),
      };
    });
  });
}
