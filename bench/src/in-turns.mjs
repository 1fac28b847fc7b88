import { percentile } from './statistics.mjs';

/**
 * One line of the results: how one contestant did in one case, round by round.
 *
 * @typedef {object} Row
 * @property {string} kind
 * @property {string} group What is compared with each other: the case.
 * @property {string} id Of the contestant.
 * @property {string} name
 * @property {string} setting
 * @property {string} unit
 * @property {'more' | 'less'} better
 * @property {number[]} values One for each round.
 * @property {number} median
 * @property {number} min
 * @property {number} max
 * @property {string} [note]
 *
 * One thing to be measured once a round; a measure may yield several figures.
 * @typedef {object} Turn
 * @property {string} label For the line of progress.
 * @property {() => Promise<Omit<Row, 'values' | 'median' | 'min' | 'max'> & { value: number } | (Omit<Row, 'values' | 'median' | 'min' | 'max'> & { value: number })[]>} measure
 */

/**
 * Measures all turns once a round, each round beginning with another one, so that what comes and goes on the machine meets all of
 * them alike. A turn that fails is reported and leaves its round out.
 *
 * @param {Turn[]} turns
 * @param {number} rounds
 * @param {(line: string) => void} say
 * @returns {Promise<Row[]>}
 */
export async function inTurns(turns, rounds, say) {
  /** @type {Map<string, any>} */
  const rows = new Map();
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < turns.length; turn += 1) {
      const { label, measure } = turns[(turn + round) % turns.length];
      const figures = await attempt(measure, (error) => say(`  ${label}: FAILED, ${error}`));
      for (const figure of figures) add(rows, figure);
      const shown = figures.map(({ value, unit }) => `${show(value)} ${unit}`).join(', ');
      if (figures.length > 0) say(`  round ${round + 1}/${rounds}  ${label}: ${shown}`);
    }
  }
  return [...rows.values()].map(summarize);
}

async function attempt(measure, failed) {
  try {
    const figures = await measure();
    return Array.isArray(figures) ? figures : [figures];
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error));
    return [];
  }
}

function add(rows, { value, ...row }) {
  const key = [row.kind, row.group, row.id, row.unit].join('\n');
  const known = rows.get(key) ?? { ...row, values: [] };
  known.values.push(value);
  rows.set(key, known);
}

function summarize(row) {
  const at = (percent) => percentile(row.values, percent);
  return { ...row, median: at(50), min: at(0), max: at(100) };
}

/** Three digits that count, thousands apart. */
export function show(value) {
  if (!Number.isFinite(value)) return '-';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}
