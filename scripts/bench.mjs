/**
 * Builds the library, installs what bench/ needs where it is missing, and measures:
 *
 *     npm run bench -- --help
 *     npm run bench -- --only drain --rounds 3 --jobs 10000
 *
 * With JOBS_LIBRARY set, another build is measured and none is made here.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bench = fileURLToPath(new URL('../bench/', import.meta.url));
const args = process.argv.slice(2);
const isWindows = process.platform === 'win32';

function run(command, parameters, cwd) {
  // On Windows npm is a script, which only a shell can start.
  const shell = isWindows && command === 'npm';
  const { status, error } = spawnSync(command, parameters, { cwd, shell, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(new URL('../bench/node_modules/', import.meta.url))) run('npm', ['ci'], bench);
if (!args.includes('--help') && process.env.JOBS_LIBRARY === undefined) run('npm', ['run', '-s', 'build'], root);
run(process.execPath, ['bench/src/main.mjs', ...args], root);
