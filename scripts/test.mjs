/**
 * Runs Jest the way this project needs it, on every operating system.
 *
 *     node scripts/test.mjs                        all tests, with the databases that answer
 *     node scripts/test.mjs --database postgres    the tests that need a database, on this one only
 *     node scripts/test.mjs test/unit -t retries   anything else goes to Jest as it is
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { compileChildren } from './compile-children.mjs';

const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
const args = process.argv.slice(2);
const env = { ...process.env };

const position = args.indexOf('--database');
if (position !== -1) {
  const [, database] = args.splice(position, 2);
  env.JOBS_TEST_DATABASES = database;
  if (!args.some((arg) => arg.startsWith('test/'))) args.push('--runTestsByPath', ...specsOnDatabases());
}

function specsOnDatabases() {
  const specs = readdirSync('test', { recursive: true }).filter((path) => path.endsWith('.spec.ts'));
  return specs
    .map((path) => join('test', path))
    .filter((path) => readFileSync(path, 'utf8').includes("/support/databases.js'"));
}

await compileChildren();
const nodeOptions = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
const { status } = spawnSync(process.execPath, [...nodeOptions, jest, ...args], { stdio: 'inherit', env });
process.exitCode = status ?? 1;
