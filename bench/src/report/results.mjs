import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { benchmarksPage } from './page.mjs';
import { markdownOf } from './markdown.mjs';

/**
 * All that is known of a run.
 *
 * @typedef {object} Results
 * @property {string} date
 * @property {string} command
 * @property {object} machine
 * @property {Record<string, string>} versions
 * @property {{ id: string, name: string, version: string, settings: object }[]} servers
 * @property {import('../in-turns.mjs').Row[]} rows
 * @property {{ title: string, plans: { text: string, plan: string }[] }[]} attachments
 */

const folder = new URL('../../results/', import.meta.url);
const page = new URL('../../../docs/benchmarks.md', import.meta.url);

/**
 * Writes a run as JSON and as Markdown.
 *
 * @param {Results} results
 * @returns {Promise<string[]>} the files
 */
export async function writeResults(results) {
  await mkdir(folder, { recursive: true });
  const name = results.date.replaceAll(/[:.]/g, '-');
  const files = { [`${name}.json`]: JSON.stringify(results, undefined, 2), [`${name}.md`]: markdownOf(results) };
  for (const [file, text] of Object.entries(files)) await writeFile(new URL(file, folder), `${text}\n`);
  return Object.keys(files).map((file) => `bench/results/${file}`);
}

/** Writes docs/benchmarks.md. */
export async function writeDocs(results) {
  await mkdir(new URL('./', page), { recursive: true });
  await writeFile(page, benchmarksPage(results));
  return fileURLToPath(page);
}

/** @returns {Promise<Results>} */
export async function readResults(file) {
  return JSON.parse(await readFile(file, 'utf8'));
}

/**
 * One report of runs that measured different things on the same machine, one after the other.
 *
 * @param {Results[]} runs
 * @returns {Results}
 */
export function joinResults(runs) {
  const [first] = runs;
  return {
    ...first,
    command: runs.map(({ command }) => command).join('; '),
    rows: runs.flatMap(({ rows }) => rows),
    attachments: runs.flatMap(({ attachments }) => attachments),
  };
}
