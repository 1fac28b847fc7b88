import { show } from './in-turns.mjs';

/**
 * What this library wants to reach, as ratios within one run.
 *
 * @typedef {object} Verdict
 * @property {string} target
 * @property {string} reached What was measured; '-' where it was not.
 * @property {boolean | undefined} isMet
 */

const raw = { postgres: /^raw-postgres/, mysql: /^raw-mysql/, sqlite: /^raw-sqlite/ };
const drainOn = (server, processes = '1 process') => ({
  kind: 'drain',
  unit: 'jobs/s',
  group: `${server}: ${processes}`,
});
const postgres = 'PostgreSQL, Redis';
const peersInPostgres = /^(graphile-worker|pg-boss)/;

const targets = [
  ratio('drain, 1 process, is at least 2 × graphile-worker at its best', drainOn(postgres), /^graphile-worker/, 2),
  ratio('drain, 1 process, is at least 3 × pg-boss at its best', drainOn(postgres), /^pg-boss/, 3),
  ...[
    ['PostgreSQL', postgres, raw.postgres],
    ['MySQL or MariaDB', 'MySQL or MariaDB', raw.mysql],
    ['SQLite', 'SQLite', raw.sqlite],
  ].map(([name, server, ids]) =>
    ratio(`drain on ${name} is at least 0.7 × the best raw SQL`, drainOn(server), ids, 0.7),
  ),
  twoProcesses,
  ratio(
    'enqueue with 32 in flight is at least 5 × the better of graphile-worker and pg-boss',
    { kind: 'enqueue', group: `${postgres}: 32 in flight` },
    peersInPostgres,
    5,
  ),
  ...['100 a call', '1000 a call'].map((way) =>
    ratio(
      `enqueue in bulk, ${way}, is no slower than the best peer`,
      { kind: 'enqueue', group: `${postgres}: ${way}` },
      /^(graphile-worker|pg-boss|bullmq)/,
      1,
    ),
  ),
  ...['in one process', 'between two processes'].map((place) =>
    ratio(
      `latency ${place}, p50, is no worse than the best peer`,
      { kind: 'latency', group: `${place}, p50` },
      /^(graphile-worker|pg-boss|bullmq)/,
      1,
    ),
  ),
  ...['PostgreSQL', 'MySQL', 'MariaDB', 'SQLite'].flatMap((server) =>
    ['claims 100 due jobs', 'finds nothing due'].map((what) => (rows) => claimVerdict(rows, server, what)),
  ),
  idleVerdict,
  ratio('memory queue: at least half of fastq', { kind: 'memory', unit: 'jobs/s' }, /^memory-fastq/, 0.5),
  ratio('memory queue: no slower than p-queue', { kind: 'memory', unit: 'jobs/s' }, /^memory-p-queue/, 1),
  waitingVerdict,
];

/** @param {import('./in-turns.mjs').Row[]} rows */
export function judge(rows) {
  return targets.map((target) => target(rows)).filter((verdict) => verdict !== undefined);
}

/** Ours against the best of others, both by their medians; more than 1 is better for us, whatever the unit. */
function ratio(target, where, others, atLeast) {
  return (rows) => {
    const here = rows.filter((row) => Object.entries(where).every(([key, value]) => row[key] === value));
    const own = here.find(({ id }) => /^(ours|memory-ours)/.test(id));
    const rivals = here.filter(({ id }) => others.test(id));
    if (own === undefined || rivals.length === 0) return { target, reached: '-', isMet: undefined };
    const best = rivals.reduce((a, b) => (advantage(a, b) >= 1 ? a : b));
    const reached = advantage(own, best);
    return { target, reached: `${show(reached)} × (${best.name})`, isMet: reached >= atLeast };
  };
}

/** How many times better a row is than another. */
export function advantage(row, other) {
  return row.better === 'more' ? row.median / other.median : other.median / row.median;
}

function ownMedian(rows, kind, group) {
  const own = rows.find((row) => row.kind === kind && row.group === group && row.id === 'ours');
  return own?.median;
}

function twoProcesses(rows) {
  const target = 'drain: 2 processes are no slower than one';
  const one = ownMedian(rows, 'drain', `${postgres}: 1 process`);
  const two = ownMedian(rows, 'drain', `${postgres}: 2 processes`);
  if (one === undefined || two === undefined) return { target, reached: '-', isMet: undefined };
  return { target, reached: `${show(two / one)} ×`, isMet: two >= one };
}

/** Left out for databases that were not there; MySQL and MariaDB are never both. */
function claimVerdict(rows, server, what) {
  const here = rows.filter((row) => row.kind === 'claim' && row.group === `${server}: ${what}`);
  const crowded = here.find(({ id }) => id.endsWith('-crowded'));
  const empty = here.find(({ id }) => id.endsWith('-empty'));
  if (crowded === undefined || empty === undefined) return undefined;
  const reached = crowded.median / empty.median;
  return {
    target: `claim on ${server}, ${what}: two million other rows cost at most 1.2 ×`,
    reached: `${show(reached)} ×`,
    isMet: reached <= 1.2,
  };
}

/** The poll interval of ours is half a second. */
function idleVerdict(rows) {
  const target = 'idle: at most one statement a poll interval (2 a second) and process';
  const own = ownMedian(rows, 'idle', 'requests to the server');
  if (own === undefined) return { target, reached: '-', isMet: undefined };
  return { target, reached: `${show(own)} a second`, isMet: own <= 2.2 };
}

function waitingVerdict(rows) {
  const target = 'memory queue: a million waiting closures take less than 250 MB';
  const own = rows.find(({ kind, unit, id }) => kind === 'memory' && unit.startsWith('MB') && id === 'memory-ours');
  if (own === undefined) return { target, reached: '-', isMet: undefined };
  return { target, reached: `${show(own.median)} MB`, isMet: own.median < 250 };
}
