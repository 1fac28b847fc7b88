import { show } from './in-turns.mjs';

/**
 * Whether something was reached that this library wants to reach; all of it as ratios within one run.
 *
 * @typedef {object} Verdict
 * @property {string} target
 * @property {string} reached What was measured; '-' where it was not.
 * @property {boolean | undefined} isMet
 *
 * @typedef {import('./in-turns.mjs').Row} Row
 */

const postgres = 'PostgreSQL, Redis';
const onPostgres = /^(graphile-worker|pg-boss|bullmq-postgres)/;
const anyPeer = /^(graphile-worker|pg-boss|bullmq)/;
const databases = [
  { name: 'PostgreSQL', group: postgres, raw: /^raw-postgres/ },
  { name: 'MySQL or MariaDB', group: 'MySQL or MariaDB', raw: /^raw-mysql/ },
  { name: 'SQLite', group: 'SQLite', raw: /^raw-sqlite/ },
];
const ways = ['one by one, awaited', '32 in flight', '100 a call', '1000 a call'];

/** @type {((rows: Row[]) => Verdict | undefined)[]} */
const targets = [
  ratio('drain is at least 2 × graphile-worker at its best', drainOn(postgres), /^graphile-worker/, 2),
  ratio('drain is at least 3 × pg-boss at its best', drainOn(postgres), /^pg-boss/, 3),
  (rows) => twoProcesses(rows, ''),
  (rows) => twoProcesses(rows, ', 4 × as many jobs'),
  ...databases.map(({ name, group, raw }) =>
    ratio(`drain on ${name} is at least 0.7 × raw SQL at its best`, drainOn(group), raw, 0.7),
  ),
  ratio(
    'enqueue, 32 in flight, is at least 5 × the better of graphile-worker and pg-boss',
    { kind: 'enqueue', group: `${postgres}: 32 in flight` },
    /^(graphile-worker|pg-boss)/,
    5,
  ),
  ...['100 a call', '1000 a call'].map((way) =>
    ratio(
      `enqueue, ${way}, is no slower than the best peer`,
      { kind: 'enqueue', group: `${postgres}: ${way}` },
      anyPeer,
      1,
    ),
  ),
  ...databases.flatMap(({ name, group, raw }) =>
    ways.map((way) =>
      ratio(
        `enqueue on ${name}, ${way}, is at least 0.7 × raw SQL`,
        { kind: 'enqueue', group: `${group}: ${way}` },
        raw,
        0.7,
      ),
    ),
  ),
  ...['in one process', 'between two processes'].flatMap((place) => {
    const where = { kind: 'latency', group: `${place}, p50` };
    return [
      ratio(`latency ${place}, p50, is no worse than the best peer on PostgreSQL`, where, onPostgres, 1),
      ratio(`latency ${place}, p50, is no worse than BullMQ on Redis, which writes to no disk`, where, /^bullmq$/, 1),
    ];
  }),
  ...['PostgreSQL', 'MySQL', 'MariaDB', 'SQLite'].flatMap((server) =>
    ['claims 100 due jobs', 'finds nothing due'].map((what) => (rows) => claimVerdict(rows, server, what)),
  ),
  idleVerdict,
  blockVerdict,
  ratio('memory queue is at least half as fast as fastq', { kind: 'memory', unit: 'jobs/s' }, /^memory-fastq/, 0.5),
  ratio('memory queue is no slower than p-queue', { kind: 'memory', unit: 'jobs/s' }, /^memory-p-queue/, 1),
  waitingVerdict,
];

/**
 * @param {Row[]} rows
 * @returns {Verdict[]}
 */
export function judge(rows) {
  return targets.map((target) => target(rows)).filter((verdict) => verdict !== undefined);
}

/** How many times better a row is than another, by their medians. */
export function advantage(row, other) {
  return row.better === 'more' ? row.median / other.median : other.median / row.median;
}

/** Ours against the best of others, whatever the unit: more than 1 is better for us. Nothing where that kind of work was not asked for. */
function ratio(target, where, others, atLeast) {
  return (rows) => {
    if (!rows.some(({ kind }) => kind === where.kind)) return undefined;
    const here = rows.filter((row) => Object.entries(where).every(([key, value]) => row[key] === value));
    const own = here.find(({ id }) => /^(ours|memory-ours)/.test(id));
    const rivals = here.filter(({ id }) => others.test(id));
    if (own === undefined || rivals.length === 0) return { target, reached: '-', isMet: undefined };
    const best = rivals.reduce((a, b) => (advantage(a, b) >= 1 ? a : b));
    const reached = advantage(own, best);
    return { target, reached: `${show(reached)} × (${best.name})`, isMet: reached >= atLeast };
  };
}

function drainOn(group, processes = '1 process') {
  return { kind: 'drain', unit: 'jobs/s', group: `${group}: ${processes}` };
}

function twoProcesses(rows, length) {
  const target = `drain on PostgreSQL${length}: 2 processes are no slower than one`;
  const [one, two] = ['1 process', '2 processes'].map((processes) => {
    const { unit, group } = drainOn(postgres, `${processes}${length}`);
    return rows.find((row) => row.id === 'ours' && row.unit === unit && row.group === group);
  });
  if (one === undefined || two === undefined) return undefined;
  return { target, reached: `${show(two.median / one.median)} ×`, isMet: two.median >= one.median };
}

/** Nothing for databases that were not there. */
function claimVerdict(rows, server, what) {
  const here = rows.filter((row) => row.kind === 'claim' && row.group === `${server}: ${what}`);
  const crowded = here.find(({ id }) => id.endsWith('-crowded'));
  const empty = here.find(({ id }) => id.endsWith('-empty'));
  if (crowded === undefined || empty === undefined) return undefined;
  const reached = crowded.median / empty.median;
  return {
    target: `claim on ${server} that ${what}: millions of other rows cost at most 1.2 ×`,
    reached: `${show(reached)} ×`,
    isMet: reached <= 1.2,
  };
}

/** Ours looks every half second, and up to a fifth later, which leaves room for the upkeep. */
function idleVerdict(rows) {
  const target = 'idle: at most one statement in a poll interval of half a second, and upkeep now and then';
  const own = rows.filter(({ kind, unit, id }) => kind === 'idle' && unit === 'a second' && id.startsWith('ours'));
  if (own.length === 0) return undefined;
  const worst = Math.max(...own.map(({ median }) => median));
  return { target, reached: `${show(worst)} a second`, isMet: worst <= 2 };
}

function blockVerdict(rows) {
  const blocks = rows.filter(({ kind, id }) => kind === 'stall' && id.endsWith('-block'));
  if (blocks.length === 0) return undefined;
  const worst = Math.max(...blocks.map(({ median }) => median));
  const target = 'SQLite, two processes on one file: no block of ours holds up the event loop for more than 50 ms';
  return { target, reached: `${show(worst)} ms`, isMet: worst <= 50 };
}

function waitingVerdict(rows) {
  const target = 'memory queue: a million waiting closures take less than 250 MB';
  const own = rows.find(({ kind, unit, id }) => kind === 'memory' && unit.startsWith('MB') && id === 'memory-ours');
  if (own === undefined) return undefined;
  return { target, reached: `${show(own.median)} MB (${own.group})`, isMet: own.median < 250 };
}
