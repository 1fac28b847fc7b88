import { parseArgs } from 'node:util';
import { contestantIds } from './contestants/index.mjs';
import { kinds } from './kinds/index.mjs';

const numbers = {
  rounds: { value: 5, about: 'how often each thing is measured' },
  jobs: { value: 50_000, about: 'jobs in each drain and bulk; slow ways get fewer' },
  latencies: { value: 200, about: 'jobs in each round of the latency' },
  'idle-seconds': { value: 20, about: 'how long the idle cost is watched' },
  crowd: { value: 1_000_000, about: 'future jobs, and failed jobs, beside those to be claimed' },
  'keyed-crowd': { value: 100_000, about: 'jobs with keys beside those to be claimed' },
  'memory-jobs': { value: 200_000, about: 'jobs in each drain of the memory queue' },
  waiting: { value: 1_000_000, about: 'closures that wait in the memory queue' },
};

const options = {
  ...Object.fromEntries(Object.keys(numbers).map((name) => [name, { type: 'string' }])),
  only: { type: 'string', multiple: true },
  contestants: { type: 'string', multiple: true },
  'write-docs': { type: 'boolean', default: false },
  render: { type: 'string', multiple: true },
  help: { type: 'boolean', default: false },
};

/** @throws where the command line makes no sense */
export function readArguments(args) {
  const { values } = parseArgs({ args, options });
  const read = (name) => wholeNumber(name, values[name] ?? numbers[name].value);
  return {
    help: values.help,
    writeDocs: values['write-docs'],
    render: values.render,
    kinds: oneOf(
      'only',
      values.only,
      kinds.map(({ name }) => name),
    ),
    contestants: oneOf('contestants', values.contestants, contestantIds),
    rounds: read('rounds'),
    jobs: read('jobs'),
    latencies: read('latencies'),
    idleSeconds: read('idle-seconds'),
    crowd: read('crowd'),
    keyedCrowd: read('keyed-crowd'),
    memoryJobs: read('memory-jobs'),
    waiting: read('waiting'),
  };
}

export function helpText() {
  const line = (name, about) => `  ${name.padEnd(26)}${about}`;
  return [
    'npm run bench -- [options]',
    '',
    'Kinds of work, all of them unless --only names some:',
    ...kinds.map(({ name, description }) => line(name, description)),
    '',
    'Options:',
    line('--only <kinds>', 'drain,latency; may be given more than once'),
    line('--contestants <ids>', contestantIds.join(',')),
    ...Object.entries(numbers).map(([name, { value, about }]) => line(`--${name} <n>`, `${about}; default ${value}`)),
    line('--write-docs', 'writes docs/benchmarks.md as well'),
    line(
      '--render <file>',
      'measures nothing, reports the results of an earlier run; given more than once, of several as one',
    ),
    '',
    'Servers: POSTGRES_URL, MYSQL_URL, REDIS_URL; SQLITE_FOLDER for the files. Each contestant gets databases of its own, named',
    'jobs_bench_*, which are removed afterwards. What does not answer is left out, and said.',
  ].join('\n');
}

function wholeNumber(name, given) {
  const value = Number(given);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`--${name} must be a whole number from 1, got ${given}`);
}

function oneOf(name, given, known) {
  if (given === undefined) return known;
  const wanted = given.flatMap((list) => list.split(','));
  const unknown = wanted.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new Error(`--${name} knows no '${unknown}'; it knows ${known.join(', ')}`);
  return wanted;
}
