import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from './fact.js';

/** The facts of all processes in the order of time. */
export function readLedgers(folder: string): readonly Entry[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ledger'));
  return files.flatMap((name) => readEntries(join(folder, name))).toSorted((a, b) => a.at - b.at);
}

function readEntries(path: string): Entry[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // Behind the last line break is nothing, or what a process was writing as it was killed.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Entry);
}
