/** Removes folders, on every operating system: `node scripts/clean.mjs dist`. */
import { rm } from 'node:fs/promises';

for (const folder of process.argv.slice(2)) await rm(folder, { recursive: true, force: true });
